"""DQ Compensation: skinning that keeps volume in twist and does not bulge in bend.

Nothing of Blender is imported here: ``dq_compensation.core`` works where ``bpy`` is absent. The
modules that need Blender are imported by `register`.
"""

from importlib import import_module

from .registration import Step, apply_steps, steps_of, undo_steps

MODULE_NAMES: tuple[str, ...] = (
    ".scene.settings.object_settings",
    ".ui.preferences",
    ".ui.help",
    ".ui.operators",
    ".ui.settings_operators",
    ".ui.compare_operators",
    ".ui.panels",
    ".ui.joints_panel",
    ".ui.checking.check_operators",
    ".ui.checking.check_panel",
    ".ui.examples.example_shaping_operators",
    ".ui.examples.example_operators",
    ".ui.examples.example_panel",
    ".ui.painting.paint_operators",
    ".ui.painting.soften_operators",
    ".ui.painting.softness_operators",
    ".ui.bake.bake_operators",
    ".ui.bake.bake_cache_operators",
    ".ui.bake.joint_operators",
    ".ui.bake.example_corrective_operators",
    ".ui.takes.take_operators",
    ".ui.takes.take_panel",
    ".ui.crowds.crowd_operators",
    ".ui.crowds.crowd_panel",
    ".ui.crowds.crowd_bake_operators",
    ".session.changes",
    ".crowds.crowd_figures",
    ".viewport.draw_handler",
    ".crowds.display.crowd_display",
    ".lifecycle.app_handlers",
    ".examples.posed_copy_handlers",
    ".examples.live_values",
    ".examples.items",
    ".setup_check.recheck_handlers",
    ".playback.take_checks",
    ".playback.renamed_takes",
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
    apply_steps(steps)
    _registered.extend(steps)


def unregister() -> None:
    """Unregister what `register` registered, the last first; harmless when nothing is."""
    steps = tuple(_registered)
    _registered.clear()
    undo_steps(steps)
