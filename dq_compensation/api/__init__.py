"""The functions for scripts.

Installed as an extension it is ``bl_ext.user_default.dq_compensation.dq_compensation.api``.

Every function takes original objects, works without a window, and leaves the frame, the mode and
the selection as they were. What cannot be done raises a `UserError` with the sentence that the
operators report; nothing has changed then. No function adds an undo step.
"""

from __future__ import annotations

from ..bake.bake_reports import PoseReport, RangeReport
from ..bake.deviations import Deviation
from ..errors import BindingError, PoseError, UserError
from ..folds.character_folds import FoldFigures, FoldsReport, SolvedJointReport
from ..folds.estimate import FoldsEstimate
from ..folds.shape_editing import ShapePose, SolvedShape
from ..folds.shared_folds import SharedReport
from ..pipeline.bones.bakes_removal import RemovalReport
from ..pipeline.bones.bones_reports import BonesReport, JointReport
from ..pipeline.correctives.corrective_reports import CorrectiveReport
from ..pipeline.crowds.functions import bake_crowd, crowds
from ..pipeline.files.files import CacheReport
from ..pipeline.files.plain_export import PlainExportReport
from ..pipeline.takes.caching import TakeReport
from ..setup_check.fixing import FixResult
from ..setup_check.issue import Fix, FixError, Issue
from ..softness.softening import SofteningReport
from ..steps import OnProgress
from ..transfer.body_weights import BodyWeightsReport
from .baking import (
    bake_bones,
    bake_cache,
    bake_correctives,
    bake_frames,
    bake_pose,
    cache_take,
    export_plain,
    remove_bake,
)
from .bone_kinds import BoneOfCharacter, bones, take_bones_for
from .characters import VERSION, disable, disable_all, enable, skinned_meshes
from .checks import Agree, check, fix, ignore
from .evaluating import (
    Evaluator,
    MotionPose,
    Space,
    evaluate,
    evaluate_frames,
    iterate_frames,
    motion_test,
)
from .measuring import Bend, CharacterReport, JointQuality, LeftOut, report
from .settings import CharacterSettings, SettingValues, change_settings, settings
from .shapes import (
    add_solved_shape,
    estimate_folds,
    remove_solved_shapes,
    solve_folds,
    solved_shapes,
)
from .weights import restore_weights, soften_weights, weights_from_body

__all__ = [
    "VERSION",
    "Agree",
    "Bend",
    "BindingError",
    "BodyWeightsReport",
    "BoneOfCharacter",
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
    "FoldFigures",
    "FoldsEstimate",
    "FoldsReport",
    "Issue",
    "JointQuality",
    "JointReport",
    "LeftOut",
    "MotionPose",
    "OnProgress",
    "PlainExportReport",
    "PoseError",
    "PoseReport",
    "RangeReport",
    "RemovalReport",
    "SettingValues",
    "ShapePose",
    "SharedReport",
    "SofteningReport",
    "SolvedJointReport",
    "SolvedShape",
    "Space",
    "TakeReport",
    "UserError",
    "add_solved_shape",
    "bake_bones",
    "bake_cache",
    "bake_correctives",
    "bake_crowd",
    "bake_frames",
    "bake_pose",
    "bones",
    "cache_take",
    "change_settings",
    "check",
    "crowds",
    "disable",
    "disable_all",
    "enable",
    "estimate_folds",
    "evaluate",
    "evaluate_frames",
    "export_plain",
    "fix",
    "ignore",
    "iterate_frames",
    "motion_test",
    "remove_bake",
    "remove_solved_shapes",
    "report",
    "restore_weights",
    "settings",
    "skinned_meshes",
    "soften_weights",
    "solve_folds",
    "solved_shapes",
    "take_bones_for",
    "weights_from_body",
]
