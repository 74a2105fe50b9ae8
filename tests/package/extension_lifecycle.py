"""Install the zip, enable it, use it, disable it, twice; write down what Blender holds each time.

    python extension_lifecycle.py ARCHIVE REPORT.json

A program for a Blender of its own, with `BLENDER_USER_RESOURCES` pointing to an empty folder.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bpy

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from leaving import run_and_leave

ADD, REMOVE = "draw_handler_add", "draw_handler_remove"
MODULE = "bl_ext.user_default.dq_compensation"


class LiveCallbacks:
    """Counts draw handlers and timers, which Blender does not list, by watching them come and go.

    Blender offers a handle for each draw handler and asks for it back; timers are functions.
    """

    def __init__(self) -> None:
        self.draw_handlers: list[object] = []
        self.timers: list[Callable[..., object]] = []
        self.subscriptions: list[object] = []
        names = [name for name in dir(bpy.types) if name.startswith("Space")]
        spaces = [space for name in names if hasattr(space := getattr(bpy.types, name), ADD)]
        # All are read before any is replaced: they inherit the function from one another.
        originals = [(space, getattr(space, ADD), getattr(space, REMOVE)) for space in spaces]
        for space, add, remove in originals:
            self._watch_space(space, add, remove)
        self._watch_timers()
        self._watch_subscriptions()

    def _watch_space(
        self, space: Any, add: Callable[..., object], remove: Callable[..., object]
    ) -> None:
        def watched_add(*arguments: object) -> object:
            handle = add(*arguments)
            self.draw_handlers.append(handle)
            return handle

        def watched_remove(handle: object, region: str) -> None:
            remove(handle, region)
            self.draw_handlers.remove(handle)

        setattr(space, ADD, staticmethod(watched_add))
        setattr(space, REMOVE, staticmethod(watched_remove))

    def _watch_timers(self) -> None:
        register = bpy.app.timers.register

        def watched_register(function: Callable[..., object], **options: object) -> None:
            register(function, **options)
            self.timers.append(function)

        bpy.app.timers.register = watched_register

    def _watch_subscriptions(self) -> None:
        subscribe, clear = bpy.msgbus.subscribe_rna, bpy.msgbus.clear_by_owner

        def watched_subscribe(*, owner: object, **options: object) -> None:
            subscribe(owner=owner, **options)
            self.subscriptions.append(owner)

        def watched_clear(owner: object) -> None:
            clear(owner)
            self.subscriptions[:] = [kept for kept in self.subscriptions if kept is not owner]

        bpy.msgbus.subscribe_rna = watched_subscribe
        bpy.msgbus.clear_by_owner = watched_clear

    def names(self) -> list[str]:
        alive = [f"timer {t}" for t in self.timers if bpy.app.timers.is_registered(t)]
        return [
            *(f"draw handler {handle}" for handle in self.draw_handlers),
            *alive,
            *(f"subscription of {owner}" for owner in self.subscriptions),
        ]


def blender_state(callbacks: LiveCallbacks) -> set[str]:
    """Return a name for everything that an add-on can leave behind in a running Blender."""
    return {
        *_classes_and_properties(),
        *_handlers(),
        *_appended_draw_functions(),
        *callbacks.names(),
    }


def _classes_and_properties() -> Iterator[str]:
    for name in dir(bpy.types):
        rna = getattr(getattr(bpy.types, name), "bl_rna", None)
        if rna is None:
            continue
        yield f"class {name}"
        yield from (f"property {name}.{prop.identifier}" for prop in rna.properties)
    # A registered class need not be in bpy.types under its own name (operators, panels).
    for base in (bpy.types.bpy_struct, bpy.types.Operator, bpy.types.Panel):
        for cls in _all_subclasses(base):
            if cls.__module__.startswith("bl_ext") and getattr(cls, "is_registered", False):
                yield f"class {cls.__module__}.{cls.__qualname__}"


def _all_subclasses(cls: type) -> Iterator[type]:
    for subclass in type.__subclasses__(cls):
        yield subclass
        yield from _all_subclasses(subclass)


def _handlers() -> Iterator[str]:
    for name in dir(bpy.app.handlers):
        functions = getattr(bpy.app.handlers, name)
        if isinstance(functions, list):
            # Numbered, for a function that is there twice.
            for number, function in enumerate(functions):
                yield f"handler {name} {number} {function.__module__}.{function.__qualname__}"


def _appended_draw_functions() -> Iterator[str]:
    for name in dir(bpy.types):
        draw = getattr(getattr(bpy.types, name), "draw", None)
        for function in getattr(draw, "_draw_funcs", ()):
            # Blender's own draw function joins the list as soon as anything is appended to it.
            if function.__module__.startswith("bl_ui"):
                continue
            yield f"draw function {function.__module__}.{function.__qualname__} in {name}"


def arm() -> bpy.types.Object:
    """Return a skinned tube along X in the scene: two bones, one above the other."""
    bpy.ops.object.armature_add()
    armature = bpy.context.object
    bpy.ops.object.mode_set(mode="EDIT")
    upper = armature.data.edit_bones[0]
    upper.name, upper.head, upper.tail = "upper", (-1, 0, 0), (0, 0, 0)
    lower = armature.data.edit_bones.new("lower")
    lower.head, lower.tail, lower.parent = (0, 0, 0), (1, 0, 0), upper
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.mesh.primitive_cylinder_add(depth=2, radius=0.2, rotation=(0, 1.5707963, 0))
    bpy.ops.object.transform_apply()
    tube = bpy.context.object
    for bone, sign in (("upper", -1), ("lower", 1)):
        group = tube.vertex_groups.new(name=bone)
        for vertex in tube.data.vertices:
            group.add([vertex.index], 0.5 + 0.5 * sign * vertex.co.x, "REPLACE")
    tube.modifiers.new("Armature", "ARMATURE").object = armature
    return tube


def display_settings(tube: bpy.types.Object) -> dict[str, object]:
    return {
        "display_type": tube.display_type,
        "visible_camera": tube.visible_camera,
        "hide_viewport": tube.hide_viewport,
        "modifiers": [(m.name, m.show_viewport, m.show_render) for m in tube.modifiers],
    }


def used_by_a_script(tube: bpy.types.Object) -> dict[str, object]:
    """Return what the functions for scripts give where the extension is not in the preferences."""
    import addon_utils

    addon_utils.enable(MODULE)
    from bl_ext.user_default.dq_compensation.dq_compensation import (  # type: ignore[import-not-found]
        api,
    )

    api.disable(tube)
    api.enable(tube, factor=0.5)
    found = {
        "characters": [obj.name for obj in api.skinned_meshes()],
        "factor": api.settings(tube).factor,
        "vertices": len(api.evaluate(tube)),
        "in_preferences": MODULE in bpy.context.preferences.addons,
    }
    api.disable(tube)
    addon_utils.disable(MODULE)
    return found


def properties_in_gltf(path: Path) -> dict[str, object]:
    """Return the custom properties of objects in a glTF file, one of which only has settings."""
    bpy.ops.object.empty_add()
    empty = bpy.context.object
    empty["loot"], empty.dq_compensation.factor = 3, 0.5
    bpy.ops.export_scene.gltf(filepath=str(path), export_format="GLTF_SEPARATE", export_extras=True)
    nodes = json.loads(path.read_text(encoding="utf-8"))["nodes"]
    return {node["name"]: node["extras"] for node in nodes if "extras" in node}


def main(archive: str, report_path: str) -> None:
    import addon_utils  # Blender's own, found once bpy is imported

    callbacks = LiveCallbacks()
    report: dict[str, Any] = {"version": bpy.app.version_string}
    bpy.ops.extensions.package_install_files(
        repo="user_default", filepath=archive, enable_on_install=False
    )
    before = blender_state(callbacks)
    added: list[set[str]] = []
    left_behind: list[list[str]] = []
    for _ in range(2):
        report["enabled"] = addon_utils.enable(MODULE, default_set=True) is not None
        added.append(blender_state(callbacks) - before)
        addon_utils.disable(MODULE, default_set=True)
        left_behind.append(sorted(blender_state(callbacks) - before))
    report["added"] = [sorted(names) for names in added]
    report["left_behind"] = left_behind

    addon_utils.enable(MODULE, default_set=True)
    preferences = bpy.context.preferences.addons[MODULE].preferences
    preferences.new_curve = "FITTED"
    tube = arm()
    report["display_before"] = display_settings(tube)
    report["operator_result"] = sorted(bpy.ops.dqc.enable())
    report["object_enabled"] = tube.dq_compensation.enabled
    report["curve"] = tube.dq_compensation.curve
    report["in_gltf"] = properties_in_gltf(Path(report_path).with_name("scene.gltf"))
    preferences.max_figures, preferences.max_crowd_memory = 7, 3
    seen = sys.modules[f"{MODULE}.dq_compensation.pipeline.crowds.settings"]
    report["crowd_limits"] = seen.crowd_limits()
    addon_utils.disable(MODULE, default_set=True)
    report["display_after"] = display_settings(tube)
    report["left_behind_after_use"] = sorted(blender_state(callbacks) - before)
    report["script"] = used_by_a_script(tube)
    report["left_behind_by_the_script"] = sorted(blender_state(callbacks) - before)
    report["package_copies"] = [
        name
        for name in sys.modules
        if name == "dq_compensation" or name.endswith(".dq_compensation.dq_compensation")
    ]
    Path(report_path).write_text(json.dumps(report), encoding="utf-8")


if __name__ == "__main__":
    run_and_leave(lambda: main(*sys.argv[1:]))
