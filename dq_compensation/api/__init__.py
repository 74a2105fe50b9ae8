"""The functions for scripts.

Installed as an extension it is ``bl_ext.user_default.dq_compensation.dq_compensation.api``.

Every function takes original objects, works without a window, and leaves the frame, the mode and
the selection as they were. What cannot be done raises a `UserError` with the sentence that the
operators report; nothing has changed then. No function adds an undo step.
"""

from __future__ import annotations

from ..bake.bake_reports import BonesReport, CorrectiveReport, JointReport, PoseReport, RangeReport
from ..bake.files.cache_baking import CacheReport
from ..bake.verification import Deviation
from ..errors import BindingError, PoseError, UserError
from ..playback.caching import TakeReport
from ..scene.weights.softening import SofteningReport
from ..setup_check.fixing import FixResult
from ..setup_check.issue import Fix, FixError, Issue
from .baking import (
    bake_bones,
    bake_cache,
    bake_correctives,
    bake_crowd,
    bake_frames,
    bake_pose,
    cache_take,
    crowds,
)
from .character_report import Bend, CharacterReport, JointQuality, LeftOut
from .checking import Agree, check, fix
from .evaluating import Evaluator, Space, evaluate, evaluate_frames, iterate_frames
from .frame_times import FrameTimes
from .measuring import report
from .setting_values import CharacterSettings, SettingValues, change_settings, settings
from .skinned_characters import disable, enable, skinned_meshes
from .softened_weights import restore_weights, soften_weights
from .steps_of_scripts import OnProgress
from .version import VERSION

__all__ = [
    "VERSION",
    "Agree",
    "Bend",
    "BindingError",
    "BonesReport",
    "CacheReport",
    "CharacterReport",
    "CharacterSettings",
    "CorrectiveReport",
    "Deviation",
    "Evaluator",
    "Fix",
    "FixError",
    "FixResult",
    "FrameTimes",
    "Issue",
    "JointQuality",
    "JointReport",
    "LeftOut",
    "OnProgress",
    "PoseError",
    "PoseReport",
    "RangeReport",
    "SettingValues",
    "SofteningReport",
    "Space",
    "TakeReport",
    "UserError",
    "bake_bones",
    "bake_cache",
    "bake_correctives",
    "bake_crowd",
    "bake_frames",
    "bake_pose",
    "cache_take",
    "change_settings",
    "check",
    "crowds",
    "disable",
    "enable",
    "evaluate",
    "evaluate_frames",
    "fix",
    "iterate_frames",
    "report",
    "restore_weights",
    "settings",
    "skinned_meshes",
    "soften_weights",
]
