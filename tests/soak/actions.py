"""What users do to a file, at random: the add-on's operators, and everything else around them.

An action takes a source of random numbers and returns what it did, or None where it does not apply.
Objects are looked up by every action: an undo or another file replaces all of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import bpy

from dq_compensation.scene.crowd_settings import is_crowd
from dq_compensation.scene.object_settings import settings_of
from dq_compensation.scene.own_objects import is_hidden
from dq_compensation.scene.setup import find_rig
from tests.blender.enabled_scenes import select
from tests.limb import build_bendy_limb, build_limb

Action = Callable[[Random], str | None]
_Thing = TypeVar("_Thing")

METHODS = (
    "COMPENSATED",
    "COMPENSATED",
    "DUAL_QUATERNION",
    "LINEAR",
    "SPHERICAL_JOINT",
    "SPHERICAL_JOINT_BY_EXAMPLE",
)
_MOST_OBJECTS = 12


def start() -> None:
    """Two enabled characters, one of them with bendy bones."""
    build_limb("Arm")
    bpy.ops.dqc.enable()
    _, bendy = build_bendy_limb(3)
    bendy.location.y = 1.0
    bpy.ops.dqc.enable()
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 6


def _among(rng: Random, things: Any) -> Any:
    listed = list(things)
    return rng.choice(listed) if listed else None


def _mesh(rng: Random) -> bpy.types.Object | None:
    shown = bpy.context.view_layer.objects
    return _among(rng, [o for o in shown if o.type == "MESH" and not is_hidden(o)])


def _rig(rng: Random) -> bpy.types.Object | None:
    return _among(rng, [o for o in bpy.context.view_layer.objects if o.type == "ARMATURE"])


def _object_mode() -> None:
    active = bpy.context.view_layer.objects.active
    if active is not None and active.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")


def _on_mesh(act: Callable[[Random, bpy.types.Object], str | None]) -> Action:
    """An action on one mesh, which is selected, in Object Mode."""

    def done(rng: Random) -> str | None:
        obj = _mesh(rng)
        if obj is None:
            return None
        _object_mode()
        if obj.visible_get():
            select(obj)
        # It may be gone, or have another name, afterwards.
        what = f"{act.__name__.strip('_')} {obj.name}"
        return f"{what} {act(rng, obj) or ''}"

    return done


def _on_rig(act: Callable[[Random, bpy.types.Object], str | None]) -> Action:
    """An action on one armature object, which is selected, in Object Mode."""

    def done(rng: Random) -> str | None:
        rig = _rig(rng)
        if rig is None:
            return None
        _object_mode()
        select(rig)
        what = f"{act.__name__.strip('_')} {rig.name}"
        return f"{what} {act(rng, rig) or ''}"

    return done


def _character(rng: Random) -> bpy.types.Object | None:
    return _mesh(rng) if rng.random() < 0.8 else _rig(rng)


def _crowd(rng: Random) -> bpy.types.Object | None:
    return _among(rng, [o for o in bpy.context.view_layer.objects if is_crowd(o)])


def operator(
    name: str, of: Callable[[Random], bpy.types.Object | None] = _character, **choices: Any
) -> Action:
    """An operator of ours on a random object; each option is one of its choices."""

    def done(rng: Random) -> str | None:
        obj = of(rng)
        if obj is None:
            return None
        _object_mode()
        select(obj)
        called = getattr(bpy.ops.dqc, name)
        if not called.poll():
            return None
        options = {key: rng.choice(values) for key, values in choices.items()}
        what = f"dqc.{name} {options or ''} on {obj.name}"
        called(**options)
        return what

    return done


def take_copy(rng: Random) -> str | None:
    """Copy the takes of one armature to another."""
    source, target = _rig(rng), _rig(rng)
    if source is None or target is None:
        return None
    _object_mode()
    select(target, source)
    if not bpy.ops.dqc.take_copy.poll():
        return None
    what = f"dqc.take_copy from {source.name} to {target.name}"
    bpy.ops.dqc.take_copy()
    return what


# --- settings


def _settings(rng: Random, obj: bpy.types.Object) -> str:
    settings: Any = settings_of(obj)
    groups = ["", *(group.name for group in obj.vertex_groups)]
    name, values = rng.choice(
        [
            ("method", METHODS),
            ("factor", (0.0, 0.3, 1.0)),
            ("curve", ("MEASURED", "FITTED", "SMOOTH", "SLIDES")),
            ("limb_axis", ("AUTO", "X", "Y")),
            ("use_mesh_joints", (True, False)),
            ("use_ball_joints", (True, False)),
            ("vertex_group", groups),
            ("blend_group", groups),
            ("example_base", ("SPHERICAL_JOINT", "COMPENSATED")),
            ("display", ("MODIFIER", "MODIFIER", "GPU")),
            ("overlay", ("NONE", "COMPENSATION", "LINEAR")),
        ]
    )
    value = rng.choice(list(values))
    setattr(settings, name, value)
    return f"{name} {value}"


def _key_factor(rng: Random, obj: bpy.types.Object) -> None:
    settings: Any = settings_of(obj)
    settings.factor = rng.random()
    settings.keyframe_insert("factor", frame=rng.randint(1, 6))


# --- bones


def _pose(rng: Random, rig: bpy.types.Object) -> None:
    bone = _among(rng, rig.pose.bones)
    if bone is not None:
        bone.rotation_mode = "XYZ"
        bone.rotation_euler = [rng.uniform(-1.2, 1.2) for _ in range(3)]
        if rng.random() < 0.2:
            bone.scale = [rng.uniform(0.7, 1.4)] * 3
        if rng.random() < 0.4:
            bone.keyframe_insert("rotation_euler", frame=rng.randint(1, 6))


def _rename_bone(rng: Random, rig: bpy.types.Object) -> None:
    bone = _among(rng, rig.data.bones)
    if bone is not None:
        bone.name = f"{bone.name.split('_')[0]}_{rng.randint(0, 9)}"


def _edit_bones(rng: Random, rig: bpy.types.Object) -> str:
    bpy.ops.object.mode_set(mode="EDIT")
    bone = _among(rng, rig.data.edit_bones)
    what = rng.choice(("roll", "tail", "parent", "segments"))
    if bone is not None:
        if what == "roll":
            bone.roll += 0.4
        elif what == "tail":
            bone.tail += type(bone.tail)((0.0, 0.05, 0.05))
        elif what == "parent":
            bone.parent = None if rng.random() < 0.5 else _among(rng, rig.data.edit_bones)
        else:
            bone.bbone_segments = rng.choice((1, 1, 4))
    bpy.ops.object.mode_set(mode="OBJECT")
    return what


def _deform(rng: Random, rig: bpy.types.Object) -> None:
    bone = _among(rng, rig.data.bones)
    if bone is not None:
        bone.use_deform = rng.random() < 0.8


# --- meshes


def _rename_group(rng: Random, obj: bpy.types.Object) -> None:
    group = _among(rng, obj.vertex_groups)
    if group is not None:
        group.name = rng.choice(("Upper", "Lower", "Hand", "Elsewhere"))


def _weights(rng: Random, obj: bpy.types.Object) -> None:
    group = _among(rng, obj.vertex_groups)
    if group is not None and obj.data.library is None:
        count = len(obj.data.vertices)
        some = [rng.randrange(count) for _ in range(20)] if count else []
        group.add(some, rng.random(), rng.choice(("REPLACE", "ADD", "SUBTRACT")))
        obj.data.update()


def _move_vertices(rng: Random, obj: bpy.types.Object) -> None:
    for _ in range(10):
        if len(obj.data.vertices):
            obj.data.vertices[rng.randrange(len(obj.data.vertices))].co.z += 0.02
    obj.data.update()


def _edit_mesh(rng: Random, obj: bpy.types.Object) -> str:
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_random(ratio=0.05, seed=rng.randint(1, 99))
    what = rng.choice(("delete", "duplicate", "subdivide"))
    if what == "delete":
        bpy.ops.mesh.delete(type="VERT")
    elif what == "duplicate":
        bpy.ops.mesh.duplicate()
    elif len(obj.data.vertices) < 2000:
        bpy.ops.mesh.subdivide()
    bpy.ops.object.mode_set(mode="OBJECT")
    return what


def _shape_key(rng: Random, obj: bpy.types.Object) -> None:
    keys = obj.data.shape_keys
    if keys is None or rng.random() < 0.2:
        if keys is None:
            obj.shape_key_add(name="Basis")
        key = obj.shape_key_add(name="Key", from_mix=False)
        for point in list(key.data)[:40]:
            point.co.z += 0.05
        key.value = rng.random()
    elif rng.random() < 0.3:
        # Object.shape_key_remove would leave a driver of the key, with which Blender 5.2 crashes.
        obj.active_shape_key_index = rng.randrange(len(keys.key_blocks))
        bpy.ops.object.shape_key_remove()
    else:
        rng.choice(list(keys.key_blocks)).value = rng.random()


def _add_modifier(rng: Random, obj: bpy.types.Object) -> str:
    kind = rng.choice(("MIRROR", "SUBSURF", "SOLIDIFY", "DISPLACE", "ARMATURE"))
    if len(obj.modifiers) < 5:
        added = obj.modifiers.new(kind.title(), kind)
        if kind == "SUBSURF":
            added.levels = added.render_levels = 1
        if kind == "ARMATURE":
            added.object = _rig(rng)
        if rng.random() < 0.4:
            obj.modifiers.move(len(obj.modifiers) - 1, 0)
    return kind


def _change_modifier(rng: Random, obj: bpy.types.Object) -> str:
    chosen = _among(rng, obj.modifiers)
    if chosen is None:
        return ""
    name, what = chosen.name, rng.choice(("remove", "move", "hide", "rename", "apply"))
    if what == "remove":
        obj.modifiers.remove(chosen)
    elif what == "move":
        obj.modifiers.move(obj.modifiers.find(name), rng.randrange(len(obj.modifiers)))
    elif what == "hide":
        chosen.show_viewport = not chosen.show_viewport
    elif what == "rename":
        chosen.name = "DQ Compensation"
    elif obj.data.shape_keys is None and obj.data.users == 1 and chosen.show_viewport:
        bpy.ops.object.modifier_apply(modifier=name)
    return f"{what} {name}"


def _armature_option(rng: Random, obj: bpy.types.Object) -> str:
    modifier = next((each for each in obj.modifiers if each.type == "ARMATURE"), None)
    what = rng.choice(("volume", "envelopes", "mask", "object"))
    if modifier is not None:
        if what == "volume":
            modifier.use_deform_preserve_volume = rng.random() < 0.5
        elif what == "envelopes":
            modifier.use_bone_envelopes = rng.random() < 0.3
        elif what == "mask":
            modifier.vertex_group = rng.choice(["", *(g.name for g in obj.vertex_groups)])
        else:
            modifier.object = _rig(rng)
    return what


# --- objects and files


def _place(rng: Random, obj: bpy.types.Object) -> str:
    what = rng.choice(("location", "rotation_euler", "scale"))
    values = [1.3] * 3 if what == "scale" else [rng.uniform(-0.5, 0.5) for _ in range(3)]
    setattr(obj, what, values)
    return what


def _apply_place(rng: Random, obj: bpy.types.Object) -> None:
    bpy.ops.object.transform_apply(
        location=rng.random() < 0.5, rotation=rng.random() < 0.5, scale=rng.random() < 0.5
    )


def _parent(rng: Random, obj: bpy.types.Object) -> None:
    obj.parent = None if obj.parent is not None else find_rig(obj)


def _duplicate(rng: Random, obj: bpy.types.Object) -> None:
    if len(bpy.context.view_layer.objects) < _MOST_OBJECTS:
        rig = find_rig(obj)
        if rig is not None and rng.random() < 0.5 and rig.visible_get():
            rig.select_set(True)
        bpy.ops.object.duplicate(linked=rng.random() < 0.4)


def _delete(rng: Random, obj: bpy.types.Object) -> None:
    # A last character stays, so that there is something to do.
    if sum(each.type == "MESH" for each in bpy.context.view_layer.objects) > 2:
        bpy.ops.object.delete()


def _rename(rng: Random, obj: bpy.types.Object) -> None:
    obj.name = rng.choice(("Arm", "Body", "Thing"))


def _hide(rng: Random, obj: bpy.types.Object) -> None:
    obj.hide_viewport = not obj.hide_viewport


def _convert(rng: Random, obj: bpy.types.Object) -> None:
    if len(bpy.context.view_layer.objects) < _MOST_OBJECTS and obj.visible_get():
        bpy.ops.object.convert(target="MESH", keep_original=True)


def frame(rng: Random) -> str:
    """Go to another frame."""
    chosen = rng.randint(1, 6)
    bpy.context.scene.frame_set(chosen)
    return f"frame {chosen}"


def mode(rng: Random) -> str | None:
    """Go to another mode and back."""
    obj = _mesh(rng)
    if obj is None or not obj.visible_get():
        return None
    _object_mode()
    select(obj)
    chosen = rng.choice(("EDIT", "WEIGHT_PAINT", "SCULPT"))
    bpy.ops.object.mode_set(mode=chosen)
    bpy.context.view_layer.update()
    bpy.ops.object.mode_set(mode="OBJECT")
    return f"{chosen} and back on {obj.name}"


def new_character(rng: Random) -> str | None:
    """Add another limb."""
    if len(bpy.context.view_layer.objects) >= _MOST_OBJECTS:
        return None
    _object_mode()
    build_limb("More")
    return "new character"


def undo(rng: Random) -> str:
    """Undo a few steps, and perhaps redo some."""
    done = rng.randint(1, 3)
    for _ in range(done):
        if bpy.ops.ed.undo.poll():
            bpy.ops.ed.undo()
    redone = rng.randint(0, done)
    for _ in range(redone):
        if bpy.ops.ed.redo.poll():
            bpy.ops.ed.redo()
    return f"undo {done}, redo {redone}"


def save_and_open(rng: Random) -> str:
    """Save the file and open it again."""
    _object_mode()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "soak.blend"))
        bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
        bpy.ops.wm.open_mainfile(filepath=path, load_ui=False)
    return "save and open"


def begin_again(rng: Random) -> str:
    """Begin with another file: after many actions few characters can be enabled."""
    _object_mode()
    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True, load_ui=False)
    start()
    return "new file"


def purge(rng: Random) -> str:
    """Remove what nobody uses."""
    bpy.ops.outliner.orphans_purge(do_recursive=True)
    return "purge"


ACTIONS: tuple[tuple[int, Action], ...] = (
    (10, operator("enable")),
    (4, operator("disable")),
    (3, operator("refresh")),
    (2, operator("toggle")),
    (2, operator("settings_copy")),
    (4, operator("check")),
    (3, operator("fix_all")),
    (2, operator("weights_fill", group=("COMPENSATION", "BLEND"), value=(0.0, 0.5))),
    (1, operator("weights_smooth", group=("COMPENSATION", "BLEND"))),
    (1, operator("weights_from_transition")),
    (2, operator("bake_pose", onto=("THIS", "COPY"))),
    (1, operator("bake_range", first=(1,), last=(3,), onto=("THIS", "COPY"))),
    (1, operator("bake_correctives", bones=("ALL",), angles=("60",), onto=("THIS", "COPY"))),
    (3, operator("take_cache", first=(1,), last=(4,))),
    (1, operator("take_refresh")),
    (1, operator("take_remove")),
    (1, take_copy),
    (3, operator("crowd_add", count=(0, 4), seed=(0, 1))),
    (1, operator("crowd_role_add", of=_crowd)),
    (1, operator("crowd_role_remove", of=_crowd)),
    (3, operator("bake_crowd", of=_crowd, tolerance=(200.0,))),
    (1, operator("crowd_bake_remove", of=_crowd)),
    (2, operator("example_add", bone=("Lower", "Hand"), mode=("NONE",))),
    (2, operator("example_apply", outside=("LEAVE", "WIDEN"))),
    (1, operator("example_cancel")),
    (1, operator("example_remove")),
    (12, _on_mesh(_settings)),
    (1, _on_mesh(_key_factor)),
    (12, _on_rig(_pose)),
    (2, _on_rig(_rename_bone)),
    (3, _on_rig(_edit_bones)),
    (1, _on_rig(_deform)),
    (2, _on_mesh(_rename_group)),
    (4, _on_mesh(_weights)),
    (4, _on_mesh(_move_vertices)),
    (3, _on_mesh(_edit_mesh)),
    (4, _on_mesh(_shape_key)),
    (3, _on_mesh(_add_modifier)),
    (3, _on_mesh(_change_modifier)),
    (3, _on_mesh(_armature_option)),
    (3, _on_mesh(_place)),
    (2, _on_rig(_place)),
    (2, _on_mesh(_apply_place)),
    (1, _on_rig(_apply_place)),
    (2, _on_mesh(_parent)),
    (3, _on_mesh(_duplicate)),
    (2, _on_mesh(_delete)),
    (1, _on_rig(_delete)),
    (1, _on_mesh(_rename)),
    (1, _on_rig(_rename)),
    (1, _on_mesh(_hide)),
    (1, _on_mesh(_convert)),
    (6, frame),
    (4, mode),
    (1, new_character),
    (8, undo),
    (2, save_and_open),
    (1, purge),
    (3, begin_again),
)
