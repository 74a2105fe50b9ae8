"""Renders a dressed human: body, shirt, trousers and gloves on one armature, softened together.

make demo-dressed        or        .venv-5.2/bin/python scripts/run.py demos.dressed

It writes `docs/dressed.jpg`, to look at before it is committed, and `build/demo/dressed.blend`.
"""

from __future__ import annotations

import time
from typing import Any, cast

import bpy

import dq_compensation
from demos.before_after import light, pictures
from demos.closeups import Framing
from demos.softened import RIG, sheet
from dq_compensation import api
from dq_compensation.scene.binding.bind import bind
from environments import PROJECT
from human.dressed import GLOVES, SHIRT, TROUSERS, add_mesh, garment
from human.model import build_human, load_human_arrays
from human.poses import NamedPose, rotation
from leaving import leave

PICTURE, FILE = PROJECT / "docs" / "dressed.jpg", PROJECT / "build" / "demo" / "dressed.blend"
HEADINGS = ("Preserve Volume", "DQ Compensation, Soft with Twist")
COLOURS = {"Shirt": (0.10, 0.22, 0.45, 1.0), "Trousers": (0.06, 0.06, 0.07, 1.0)}
CLOTHES = {"Shirt": (SHIRT, 0.004), "Trousers": (TROUSERS, 0.008), "Gloves": (GLOVES, 0.002)}
# The label, the joint, its parent, the rotations, the framing.
CLOSE_UPS = (
    ("Elbow bent", "lowerarm_l", "upperarm_l", {"lowerarm_l": rotation(78)}, 0.1),
    ("Arm twisted", "upperarm_l", "clavicle_l", {"upperarm_l": rotation(0, 80, 0)}, 0.16),
    ("Hand twisted", "hand_l", "lowerarm_l", {"hand_l": rotation(0, 120, 0)}, 0.1),
    ("Thigh raised", "thigh_l", "pelvis", {"thigh_l": rotation(-90)}, 0.25),
)


def build_dressed() -> tuple[list[bpy.types.Object], bpy.types.Object]:
    """The human in clothes, the body first, and its armature."""
    body, rig = build_human(RIG)
    arrays, meshes = load_human_arrays(RIG), [body]
    for name, (covers, thickness) in CLOTHES.items():
        meshes.append(add_mesh(name, garment(arrays, covers, thickness, 0.5), rig))
    return meshes, rig


def main() -> int:
    start = time.monotonic()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    dq_compensation.register()
    meshes, rig = build_dressed()
    light(meshes[0])
    for obj in meshes[1:]:
        _colour(obj)
    for obj in meshes:
        armature = cast("bpy.types.ArmatureModifier", obj.modifiers["Armature"])
        armature.use_deform_preserve_volume = True
    skeleton = bind(meshes[0], bpy.context.evaluated_depsgraph_get()).skeleton
    wanted = []
    for label, joint, parent, turned, height in CLOSE_UPS:
        framing = Framing(height, 0.2, 0.8, (0.8, -1.0, 0.2))
        wanted.append((label, NamedPose(label, joint, parent, turned), framing))
    rows = [pictures(wanted, rig, skeleton)]
    api.enable(meshes, softness=0.5, twist_spread=1.0)
    rows.append(pictures(wanted, rig, skeleton))
    sheet([label for label, *_ in wanted], rows, HEADINGS).save(PICTURE, quality=88, optimize=True)
    FILE.parent.mkdir(parents=True, exist_ok=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(FILE))
    print(f"{time.monotonic() - start:.1f} s. To look at: {PICTURE.relative_to(PROJECT)}")
    return 0


def _colour(obj: bpy.types.Object) -> None:
    """A subdivided cloth of one colour."""
    smooth = cast("bpy.types.SubsurfModifier", obj.modifiers.new("Subdivision", "SUBSURF"))
    smooth.levels, smooth.render_levels = 0, 1
    material = bpy.data.materials.new(obj.name)
    if material.node_tree is None:  # before Blender 5
        material.use_nodes = True
    shader = cast("Any", material.node_tree).nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = COLOURS.get(obj.name, (0.35, 0.3, 0.2, 1.0))
    shader.inputs["Roughness"].default_value = 0.8
    cast("bpy.types.Mesh", obj.data).materials.append(material)


if __name__ == "__main__":
    leave(main())
