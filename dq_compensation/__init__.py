"""DQ Compensation: skinning that keeps volume in twist and does not bulge in bend.

Nothing of Blender is imported here: ``dq_compensation.core`` works where ``bpy`` is absent. The
modules that need Blender are imported by `register`.
"""

import atexit
import sys
from importlib import import_module

from .registration import Step, apply_steps, steps_of, undo_steps

MODULE_NAMES: tuple[str, ...] = (
    ".translations.languages",
    # What object settings have of features, before them.
    ".pipeline.takes.settings",
    ".pipeline.crowds.settings",
    ".scene.settings.object_settings",
    ".ui.preferences",
    ".ui_shared.reporting",
    ".ui_shared.sidebar",
    ".ui.operators",
    ".ui.looks",
    ".ui.posed_joints",
    ".ui.joints",
    ".ui.panels",
    ".sample.operators",
    ".setup_check.operators",
    ".folds.operators",
    ".examples.operators",
    ".examples.panel",
    ".painting.operators",
    ".painting.panel",
    ".softness.operators",
    ".transfer.operators",
    ".transfer.source_colours",
    ".motion_test.drawn_copy",
    ".motion_test.hidden_bones",
    ".motion_test.operators",
    ".bake.operators",
    ".pipeline.correctives.baked_keys_check",
    ".pipeline.correctives.operators",
    ".pipeline.correctives.panel",
    ".pipeline.bones.baked_bones_check",
    ".pipeline.bones.operators",
    ".pipeline.bones.panel",
    ".pipeline.files.operators",
    ".pipeline.files.panel",
    ".pipeline.takes.operators",
    ".pipeline.takes.panel",
    ".pipeline.crowds.operators",
    ".pipeline.crowds.panel",
    ".session.changes",
    ".pipeline.crowds.crowd_figures",
    ".viewport.draw_handler",
    ".viewport.drawn_bones",
    ".viewport.beside",
    ".pipeline.takes.played_takes",
    ".pipeline.crowds.crowd_display",
    ".examples.posed_copy",
    ".examples.authoring",
    ".examples.shown_weights",
    ".setup_check.findings",
    ".pipeline.takes.take_checks",
    ".pipeline.takes.known_takes",
    # The last of those that follow changes: it removes data-blocks that others still look at.
    ".lifecycle.app_handlers",
    ".command_line.blender_command",
)
"""The modules that register something with Blender, in order: a later one may need an earlier."""

_registered: list[Step] = []


def register() -> None:
    """Register every module of `MODULE_NAMES`; when one fails, none stays registered.

    Registering again without `unregister` does nothing, so a failed reload leaves no second copy.
    """
    if _registered:
        return
    modules = [import_module(name, __package__) for name in MODULE_NAMES]
    steps = [step for module in modules for step in steps_of(module)]
    atexit.unregister(_let_go_of_bpy)
    atexit.register(_let_go_of_bpy)
    apply_steps(steps)
    _registered.extend(steps)


def unregister() -> None:
    """Unregister what `register` registered, the last first; harmless when nothing is."""
    steps = tuple(_registered)
    _registered.clear()
    undo_steps(steps)


def _let_go_of_bpy() -> None:
    """Let Python free the module `bpy` when it ends: Blender ends with that module.

    Blender keeps functions of ours, after `unregister`, too, and each keeps the names of its
    module. Without this, bpy 4.2 crashes at the end of Python, and bpy 4.5 never ends.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{__name__}."):
            vars(module).pop("bpy", None)
