"""Renders loose clothes at rest, with the weights of *Data Transfer*, and with *Weights from Body*.

make demo-clothes        or        .venv-5.2/bin/python scripts/run.py demos.clothes

It writes `docs/clothes.jpg`, to look at before it is committed.
"""

from __future__ import annotations

import time
from typing import Any, cast

import bpy

from demos.before_after import pictures, save
from demos.closeups import Framing
from demos.softened import RIG, lit_human, sheet
from dq_compensation import api
from environments import PROJECT
from human.loose_clothes import LooseName, data_transfer, loose_clothes
from human.poses import NamedPose, rotation
from leaving import leave

PICTURE = PROJECT / "docs" / "clothes.jpg"
HEADINGS = ("At rest", "Data Transfer, nearest face", "Weights from Body")
_LEGS = Framing(0.55, 0.2, 4.0, (1.0, -1.2, 0.25), (0.0, 0.0, 1.0), shift=(-0.15, -0.45))
_ARMS = Framing(0.28, 0.2, 4.0, (0.05, 0.9, 0.4), (0.0, 0.0, 1.0), shift=(0.2, 0.3))
# The label, the joint, its parent, the rotations, the framing.
CLOSE_UPS: dict[LooseName, tuple[str, str, str, dict[str, Any], Framing]] = {
    "skirt": ("Skirt", "thigh_l", "pelvis", {"thigh_l": rotation(-90.0)}, _LEGS),
    "coat": ("Coat to the knees", "thigh_l", "pelvis", {"thigh_l": rotation(-60.0)}, _LEGS),
    "sleeves": ("Wide sleeves", "hand_l", "lowerarm_l", {"hand_l": rotation(0.0, 90.0)}, _ARMS),
}


def main() -> int:
    start = time.monotonic()
    body, rig, skeleton = lit_human()
    columns = []
    for name, (label, joint, parent, turned, framing) in CLOSE_UPS.items():
        obj = loose_clothes(name).add(label)
        _colour(obj)
        at_rest = (label, NamedPose(label, joint, parent, {}), framing)
        posed = (label, NamedPose(label, joint, parent, turned), framing)
        found = pictures([at_rest], rig, skeleton)
        data_transfer(obj, body, rig)
        found += pictures([posed], rig, skeleton)
        pictures([at_rest], rig, skeleton)
        obj.vertex_groups.clear()
        api.weights_from_body(obj, body=body.name)
        found += pictures([posed], rig, skeleton)
        columns.append(found)
        bpy.data.objects.remove(obj)
    labels = [label for label, *_ in CLOSE_UPS.values()]
    rows = list(zip(*columns, strict=True))
    save(sheet(labels, rows, HEADINGS), PICTURE)
    print(f"{time.monotonic() - start:.1f} s, {RIG}. To look at: {PICTURE.relative_to(PROJECT)}")
    return 0


def _colour(obj: bpy.types.Object) -> None:
    """Cloth of one colour."""
    material = bpy.data.materials.new(obj.name)
    if material.node_tree is None:  # before Blender 5
        material.use_nodes = True
    shader = cast("Any", material.node_tree).nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (0.10, 0.22, 0.45, 1.0)
    shader.inputs["Roughness"].default_value = 0.8
    cast("bpy.types.Mesh", obj.data).materials.append(material)


if __name__ == "__main__":
    leave(main())
