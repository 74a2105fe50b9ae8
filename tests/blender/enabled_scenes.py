"""What tests of enabled characters share: selecting, enabling, comparing, describing."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.lifecycle.following import check_all
from dq_compensation.modifier.parts import Seen
from dq_compensation.scene.blender.mesh import read_weights
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.stack import armature_modifier
from tests.blender.scene_builders import character, evaluated_positions
from tests.limb import build_posed_limb

# Of properties that are not settings: what changes by itself, and who the object is.
_VOLATILE = frozenset({"execution_time", "is_active", "is_evaluated", "node_warnings", "tag"})
_SIMPLE = frozenset({"BOOLEAN", "INT", "FLOAT", "STRING", "ENUM"})


def select(*objects: bpy.types.Object) -> None:
    """Select these and no others, and make the first the active one."""
    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj in objects)
    bpy.context.view_layer.objects.active = objects[0] if objects else None


def enable(obj: bpy.types.Object, display: str = "MODIFIER") -> bpy.types.NodesModifier:
    """Enable by the operator, unless it is enabled already; returns the node modifier."""
    select(obj)
    obj.dq_compensation.display = display
    if not obj.dq_compensation.enabled:
        assert bpy.ops.dqc.enable() == {"FINISHED"}
    return ours(obj)


def disable(obj: bpy.types.Object) -> None:
    """Disable one mesh by its switch in the panel; *Disable* takes all of its character."""
    select(obj)
    assert obj.dq_compensation.enabled
    assert bpy.ops.dqc.switch_mesh(mesh=obj.name) == {"FINISHED"}


def enabled_character(display: str = "MODIFIER") -> tuple[bpy.types.Object, bpy.types.Object]:
    """A new file with the small character, enabled."""
    obj, armature = character()
    enable(obj, display)
    return obj, armature


def enabled_limb(name: str = "Limb") -> tuple[bpy.types.Object, bpy.types.Object]:
    """The limb in the current scene, posed and enabled."""
    obj, armature = build_posed_limb(name)
    enable(obj)
    return obj, armature


def ours(obj: bpy.types.Object) -> bpy.types.NodesModifier:
    """The node modifier, which is there."""
    modifier = SkinnedObject(obj).ours
    assert modifier is not None
    return modifier


def seen(obj: bpy.types.Object) -> Seen:
    """An enabled object as its parts see it."""
    return Seen(SkinnedObject(obj), ours(obj))


def check() -> None:
    """What the timer of a session with a window does a moment after a change."""
    bpy.context.view_layer.update()
    while check_all(bpy.context.evaluated_depsgraph_get()):
        pass
    bpy.context.view_layer.update()


def distance(one: NDArray[np.floating], other: NDArray[np.floating], size: float = 1.0) -> float:
    """The largest distance between vertices, in parts of the size."""
    return float(np.linalg.norm(one - other, axis=1).max() / size)


def rest_of(obj: bpy.types.Object) -> NDArray[np.float32]:
    """Shape (n, 3): the vertices of the mesh itself."""
    positions = np.empty(3 * len(obj.data.vertices), np.float32)
    obj.data.vertices.foreach_get("co", positions)
    return positions.reshape(-1, 3)


def error(obj: bpy.types.Object) -> float:
    """How far the evaluated mesh is from what NumPy computes, in parts of the object's size."""
    bpy.context.view_layer.update()
    expected = api.evaluate(obj)
    size = float(np.ptp(rest_of(obj), axis=0).max())
    return distance(evaluated_positions(obj), expected, size)


def datablocks() -> dict[str, list[str]]:
    """The names of everything that enabling could add to a file."""
    kinds = ("objects", "meshes", "shape_keys", "node_groups", "actions", "collections")
    return {kind: sorted(each.name for each in getattr(bpy.data, kind)) for kind in kinds}


def description(obj: bpy.types.Object) -> dict[str, Any]:
    """Everything of an object and its mesh that a user could see or a script read."""
    mesh, animation = obj.data, obj.animation_data
    read = read_weights(mesh)
    found: dict[str, Any] = {
        "object": _settings(obj),
        "mesh": _settings(mesh),
        "modifiers": [_settings(modifier) for modifier in obj.modifiers],
        "active modifier": obj.modifiers.active.name if obj.modifiers.active else None,
        # Our own settings are registered properties: before Blender 5 they are listed, too.
        "object keys": sorted(set(obj.keys()) - {"dq_compensation"}),
        "mesh keys": sorted(mesh.keys()),
        "attributes": [(a.name, a.domain, a.data_type) for a in mesh.attributes],
        "active attribute": mesh.attributes.active_index,
        "groups": [group.name for group in obj.vertex_groups],
        "weights": [each.tobytes() for each in (read.vertices, read.groups, read.weights)],
        "positions": rest_of(obj).tobytes(),
        "animated": animation is not None,
        "drivers": [curve.data_path for curve in animation.drivers] if animation else [],
        "action": animation.action.name if animation and animation.action else None,
        "parent": obj.parent,
        "collections": [collection.name for collection in obj.users_collection],
    }
    return found | datablocks()


def _settings(owner: Any) -> dict[str, Any]:
    return {
        prop.identifier: getattr(owner, prop.identifier)
        for prop in owner.bl_rna.properties
        if prop.type in _SIMPLE
        and not getattr(prop, "is_array", False)
        and prop.identifier not in _VOLATILE
    }


def without_addon(path: Path, expression: str) -> Any:
    """What an expression gives in a Blender that has opened the file and knows no add-on of ours.

    Args:
        path: of the .blend.
        expression: of Python; `D` is bpy.data, `shown(name)` the evaluated vertices of an object.
    """
    blender = _blender_without_addon()
    assert blender.stdin is not None
    assert blender.stdout is not None
    blender.stdin.write(json.dumps([str(path), expression]) + "\n")
    blender.stdin.flush()
    output: list[str] = []
    for line in blender.stdout:
        if line.startswith("FOUND"):
            return json.loads(line[6:])
        output.append(line)
    _blender_without_addon.cache_clear()
    raise AssertionError("".join(output))


@cache
def _blender_without_addon() -> subprocess.Popen[str]:
    """A Blender that answers for one file after the other, until this process ends."""
    script = (
        "import bpy, json, os, sys\n"
        "D = bpy.data\n"
        "def shown(name):\n"
        "    graph = bpy.context.evaluated_depsgraph_get()\n"
        "    return [list(v.co) for v in D.objects[name].evaluated_get(graph).data.vertices]\n"
        "for line in sys.stdin:\n"
        "    path, expression = json.loads(line)\n"
        "    bpy.ops.wm.open_mainfile(filepath=path)\n"
        "    bpy.context.view_layer.update()\n"
        "    print('\\nFOUND', json.dumps(eval(expression)), flush=True)\n"
        "os._exit(0)\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def hidden_armature_modifier(obj: bpy.types.Object) -> bool:
    """Whether the Armature modifier is there and hidden."""
    modifier = armature_modifier(obj)
    assert modifier is not None
    return not modifier.show_viewport and not modifier.show_render


def is_base(obj: bpy.types.Object) -> bool:
    """Whether the Armature modifier deforms the object and preserves volume, for ours to add to."""
    modifier = armature_modifier(obj)
    assert modifier is not None
    shown = modifier.show_viewport and modifier.show_render
    return shown and modifier.use_deform_preserve_volume
