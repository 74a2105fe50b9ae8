"""What users do with modifiers that move vertices, before and after the Armature modifier.

Before it they are part of the shape at rest; after it they get what is deformed. Whatever they do,
*Enable* moves nothing while all bones are at rest.
"""

from __future__ import annotations

from random import Random
from typing import Any

import bpy
import numpy as np

from dq_compensation.lifecycle import enabling
from dq_compensation.lifecycle.enabling import notes_of, problem_of
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.settings.object_settings import settings_of
from dq_compensation.scene.stack import armature_modifier
from tests.blender.enabled_scenes import check, select
from tests.blender.scene_builders import evaluated_positions
from tests.soak.choosing import Action, among, on_mesh
from tests.soak.used_objects import USED, cage, handle, shape_used, tree_that_moves

# In parts of the size: nodes compute in float32.
REST_TOLERANCE = 1e-4
_MOST_BEFORE = 4
_MOST_VERTICES = 2000

_Values = tuple[Any, ...]
# What users set of each kind; numbers are keyed, too.
_SETTINGS: dict[str, dict[str, _Values]] = {
    "DISPLACE": {"strength": (0.1, 0.03, -0.04), "direction": ("NORMAL", "Z", "CUSTOM_NORMAL")},
    "CAST": {"factor": (0.2, 0.5, -0.3), "cast_type": ("SPHERE", "CYLINDER", "CUBOID")},
    "SIMPLE_DEFORM": {
        "factor": (0.4, -0.3, 0.1),
        "deform_method": ("TWIST", "BEND", "TAPER", "STRETCH"),
    },
    "LATTICE": {"strength": (1.0, 0.5, 0.2)},
    "HOOK": {"strength": (1.0, 0.6, 0.2)},
    "SHRINKWRAP": {"offset": (0.02, 0.0, 0.06), "wrap_method": ("NEAREST_VERTEX", "PROJECT")},
    "WAVE": {"height": (0.05, 0.02, 0.1), "speed": (0.1, 0.3)},
    "CURVE": {"deform_axis": ("POS_X", "POS_Y", "NEG_X")},
    "MESH_DEFORM": {"show_render": (True, True, False)},
    "SURFACE_DEFORM": {"strength": (1.0, 0.4, 0.8)},
    "NODES": {},
}
_AFTER = ("MULTIRES", "MULTIRES", "SOFT_BODY", "CLOTH")


def add_deforming(rng: Random, obj: bpy.types.Object) -> str:
    """Add a modifier that moves vertices before the Armature modifier."""
    kind, before = rng.choice(list(_SETTINGS)), SkinnedObject(obj).modifiers_before
    if len(before) >= _MOST_BEFORE or len(obj.data.vertices) > _MOST_VERTICES:
        return f"not {kind}"
    if kind == "MESH_DEFORM" and not obj.data.vertices:
        # Blender 4.2 and 4.5 save this binding wrongly: an undo or opening the file ends them.
        return f"not {kind}"
    added: Any = _put_before(rng, obj, kind)
    if kind in USED:
        setattr(added, USED[kind][0], USED[kind][1]())
    if kind == "HOOK":
        added.falloff_type = "NONE"
        count = len(obj.data.vertices)
        added.vertex_indices_set(list(range(count // 4, count // 2)))
    elif kind == "NODES":
        added.node_group = tree_that_moves()
    elif kind in ("SHRINKWRAP", "DISPLACE") and obj.vertex_groups and rng.random() < 0.5:
        added.vertex_group = rng.choice(list(obj.vertex_groups)).name
    _change(rng, added)
    if kind in ("MESH_DEFORM", "SURFACE_DEFORM"):
        bind = "meshdeform_bind" if kind == "MESH_DEFORM" else "surfacedeform_bind"
        getattr(bpy.ops.object, bind)(modifier=added.name)
        shape_used(rng, cage())
    elif kind == "HOOK":
        handle().location.z += 0.05
    other = rng.choice((None, None, "MIRROR", "SUBSURF"))
    if other is not None and all(each.type != other for each in obj.modifiers):
        beside = _put_before(rng, obj, other)
        if isinstance(beside, bpy.types.SubsurfModifier):
            beside.levels = beside.render_levels = 1
        return f"{kind} and {other}"
    return kind


def _put_before(rng: Random, obj: bpy.types.Object, kind: str) -> bpy.types.Modifier:
    armature = armature_modifier(obj)
    place = obj.modifiers.find(armature.name) if armature is not None else 0
    added = obj.modifiers.new(kind.title(), kind)
    obj.modifiers.move(len(obj.modifiers) - 1, rng.randint(0, place))
    return added


def change_deforming(rng: Random, obj: bpy.types.Object) -> str | None:
    """Change, key or hide a modifier that moves vertices, or change or delete what it uses."""
    own = SkinnedObject(obj).ours
    modifier = among(rng, [m for m in obj.modifiers if m.type in _SETTINGS and m != own])
    if modifier is None:
        return None
    used = USED[modifier.type][1]() if modifier.type in USED else None
    what = rng.choice(("set", "set", "key", "key", "hide", "shape", "move", "delete"))
    if what == "set":
        _change(rng, modifier)
    elif what == "key":
        _key(rng, modifier)
    elif what == "hide":
        modifier.show_viewport = not modifier.show_viewport
    elif used is None:
        return None
    elif what == "shape":
        shape_used(rng, used)
    elif what == "move":
        used.location.z += rng.choice((0.05, -0.05))
        if rng.random() < 0.3:
            used.keyframe_insert("location", frame=rng.randint(1, 6))
    elif rng.random() < 0.3:
        bpy.data.objects.remove(used)
    return f"{what} {modifier.name}"


def _change(rng: Random, modifier: Any) -> None:
    if modifier.type == "NODES":
        if modifier.node_group is not None:
            offset = _offset(modifier)
            if offset is not None:
                offset.default_value = (0.0, rng.choice((0.05, -0.03)), rng.choice((0.0, 0.04)))
        return
    name, values = rng.choice(list(_SETTINGS[modifier.type].items()))
    setattr(modifier, name, rng.choice(values))


def _key(rng: Random, modifier: Any) -> None:
    """Animate the first setting: a number."""
    if modifier.type == "NODES":
        offset = _offset(modifier) if modifier.node_group is not None else None
        for frame in (1, 6) if offset is not None else ():
            offset.default_value = (0.0, 0.0, rng.choice((0.0, 0.03, 0.06)))
            offset.keyframe_insert("default_value", frame=frame)
        return
    name, values = next(iter(_SETTINGS[modifier.type].items()))
    if isinstance(values[0], float):
        for frame in (1, 6):
            setattr(modifier, name, rng.choice(values))
            modifier.keyframe_insert(name, frame=frame)


def _offset(modifier: Any) -> Any:
    nodes = [n for n in modifier.node_group.nodes if n.bl_idname == "GeometryNodeSetPosition"]
    return nodes[0].inputs["Offset"] if nodes else None


def add_after(rng: Random, obj: bpy.types.Object) -> str:
    """Add a modifier after the Armature modifier that wants the mesh as it is, or simulates."""
    kind = rng.choice(_AFTER)
    known = any(each.type in _AFTER for each in obj.modifiers)
    if known or len(obj.data.vertices) > _MOST_VERTICES:
        return f"not {kind}"
    added = obj.modifiers.new(kind.title(), kind)
    if kind == "MULTIRES" and obj.data.users == 1 and rng.random() < 0.7:
        bpy.ops.object.multires_subdivide(modifier=added.name)
    return kind


def at_rest(rng: Random, obj: bpy.types.Object) -> str | None:
    """Put the bones at rest, disable an object and enable it: none of that moves a vertex."""
    settings, rig = settings_of(obj), armature_modifier(obj)
    by_example = settings.method == "SPHERICAL_JOINT_BY_EXAMPLE" and len(settings.examples)
    # An example may act at rest. What the panel says, is left out.
    if rig is None or by_example or not obj.visible_get():
        return None
    if settings.enabled and (problem_of(obj) or notes_of(obj)):
        return None
    frame, was_enabled = bpy.context.scene.frame_current, settings.enabled
    posed = [each for each in bpy.data.armatures if each.pose_position == "POSE"]
    # Where simulations begin.
    bpy.context.scene.frame_set(1)
    try:
        for armature in posed:
            armature.pose_position = "REST"
        check()
        shown = evaluated_positions(obj) if was_enabled else None
        enabling.disable(obj)
        check()
        rest = evaluated_positions(obj)
        select(obj)
        if bpy.ops.dqc.enable.poll():
            bpy.ops.dqc.enable()
        check()
        after = evaluated_positions(obj)
    finally:
        for armature in posed:
            armature.pose_position = "POSE"
        bpy.context.scene.frame_set(frame)
    del rng
    for verb, positions in (("Enable", after), ("Disable", shown)):
        if positions is not None:
            _require_alike(obj, verb, positions, rest)
    return f"{settings_of(obj).method}, {', '.join(each.type for each in obj.modifiers)}"


def _require_alike(obj: bpy.types.Object, verb: str, one: Any, other: Any) -> None:
    stack = ", ".join(each.type for each in obj.modifiers)
    assert one.shape == other.shape, f"{obj.name}: {verb} at rest changes the mesh ({stack})"
    if len(one):
        size = max(float(np.ptp(other, axis=0).max()), 1e-3)
        off = float(np.linalg.norm(one - other, axis=1).max()) / size
        sentence = f"{obj.name}: {verb} at rest moves vertices by {off:.2g} of the size ({stack})"
        assert not off > REST_TOLERANCE, sentence


DEFORMING_ACTIONS: tuple[tuple[int, Action], ...] = (
    (4, on_mesh(add_deforming)),
    (5, on_mesh(change_deforming)),
    (1, on_mesh(add_after)),
    (5, on_mesh(at_rest)),
)
