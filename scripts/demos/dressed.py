"""Renders a dressed human: body, shirt and trousers on one armature, softened together.

make demo-dressed        or        .venv-5.2/bin/python scripts/run.py demos.dressed

It writes `docs/dressed.jpg`, to look at before it is committed, and `build/demo/dressed.blend`.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import bpy
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

import dq_compensation
from demos.before_after import ACCENT, GAP, HEADER, PAGE, TEXT, light, look, render, save
from demos.closeups import Framing
from demos.drawing import font
from demos.softened import RIG
from dq_compensation import api
from dq_compensation.scene.binding.bind import bind
from environments import PROJECT
from human.dressed import SHIRT, TROUSERS, add_mesh, begins_with, garment, lifted, some_faces
from human.model import HumanArrays, build_human, load_human_arrays
from human.poses import NamedPose, mirrored, rotation
from leaving import leave

Points = NDArray[np.floating]
NECK = begins_with("neck")

PICTURE, FILE = PROJECT / "docs" / "dressed.jpg", PROJECT / "build" / "demo" / "dressed.blend"
HEADINGS = (("Blender's Preserve Volume", TEXT), ("DQ Compensation, Soft with Twist", ACCENT))
# How far each lies above the skin, metres, and its colour.
CLOTHES = {
    "Trousers": (0.006, (0.20, 0.18, 0.16, 1.0)),
    "Shirt": (0.010, (0.05, 0.26, 0.30, 1.0)),
}
CLOTH = 0.003
# How often vertices of clothes move to the middle of their neighbours, and those of edges along
# these: clothes are smoother than skin. The first ones move back every second time, so that nothing
# shrinks, after those beside edges have come along. Edges shrink, and are lifted above the skin.
SMOOTHED, EVENED = 10, 100
BACK = -0.52
POSE = {
    "spine_01": rotation(6.0, -6.0),
    "spine_03": rotation(4.0, -8.0),
    "head": rotation(-4.0, 14.0),
    "clavicle_l": rotation(0.0, 0.0, 12.0),
    "upperarm_l": rotation(0.0, -50.0, 92.0),
    "lowerarm_l": rotation(0.0),
    "hand_l": rotation(0.0, 70.0),
    "upperarm_r": mirrored(rotation(-30.0, 30.0, 5.0)),
    "lowerarm_r": rotation(50.0),
    "thigh_l": rotation(-95.0, 0.0, -12.0),
    "calf_l": rotation(105.0),
    "foot_l": rotation(15.0),
    "thigh_r": mirrored(rotation(8.0)),
}
_UP = (0.0, 0.0, 1.0)
# The size of each picture, and what it shows: the whole, the shoulder, the hip.
_FIGURE, _DETAIL = (456, 966), (456, 477)
SHOWN = (
    (_FIGURE, "pelvis", Framing(1.0, 0.2, 1.9, (0.75, -1.0, 0.1), _UP, shift=(0.03, 0.08))),
    (_DETAIL, "upperarm_l", Framing(0.19, 0.2, 1.0, (0.35, -1.0, -0.1), _UP, shift=(0.12, -0.3))),
    (_DETAIL, "thigh_l", Framing(0.22, 0.2, 1.5, (1.0, -0.25, 0.1), _UP)),
)


def build_dressed() -> tuple[list[bpy.types.Object], bpy.types.Object]:
    """The human in clothes, the body first, and its armature."""
    body, rig = build_human(RIG)
    arrays, meshes = load_human_arrays(RIG), [body]
    for name, (thickness, _) in CLOTHES.items():
        cloth = garment(arrays, lambda bone: SHIRT(bone) or TROUSERS(bone) or NECK(bone), thickness)
        middles = cloth.vertices[cloth.faces].mean(axis=1)
        cloth = some_faces(cloth, _is_covered(middles, arrays)[name])
        meshes.append(add_mesh(name, _hemmed(cloth, arrays, thickness), rig))
    return meshes, rig


def _is_covered(points: Points, arrays: HumanArrays) -> dict[str, NDArray[np.bool_]]:
    """Where each of the clothes lies, of the body at rest."""
    heads = dict(zip(arrays.names, arrays.heads, strict=True))
    z = points[:, 2]
    collar = points @ (0.0, -0.4, 1.0) < heads["neck_01"] @ (0.0, -0.4, 1.0) + 0.02
    above_hem = z > heads["thigh_l"][2] - 0.02
    is_arm = np.abs(points[:, 0]) > 2.0 * heads["upperarm_l"][0]
    return {
        "Shirt": collar & (above_hem | is_arm),
        "Trousers": (z < heads["spine_01"][2]) & (z > heads["foot_l"][2] + 0.03) & ~is_arm,
    }


def _hemmed(cloth: HumanArrays, body: HumanArrays, thickness: float) -> HumanArrays:
    """Smooth clothes with even edges, at least so far above the skin, metres."""
    sides = np.concatenate([cloth.faces[:, [i, (i + 1) % 3]] for i in range(3)])
    edges, faces = np.unique(np.sort(sides, axis=1), axis=0, return_counts=True)
    border = edges[faces == 1]
    vertices = cloth.vertices.astype(np.float64)
    for _ in range(EVENED):
        vertices = lifted(_moved(border, vertices, 0.5), body, thickness)
    inside = _degree(border, vertices) == 0
    near = inside & (_degree(edges[~inside[edges, 0].all(axis=1)], vertices) > 0)
    for _ in range(SMOOTHED):
        vertices = np.where(near, _moved(edges, vertices, 0.5), vertices)
    for part in (0.5, BACK) * SMOOTHED:
        vertices = np.where(inside, _moved(edges, vertices, part), vertices)
    vertices = lifted(vertices, body, thickness)
    return replace(cloth, vertices=vertices.astype(np.float32))


def _degree(edges: NDArray[np.integer], vertices: Points) -> NDArray[np.integer]:
    """Shape (n, 1), how many of these edges each vertex has."""
    return np.bincount(edges.ravel(), minlength=len(vertices))[:, None]


def _moved(edges: NDArray[np.integer], vertices: Points, part: float) -> Points:
    """The vertices, a part of the way to the middle of their neighbours along these edges."""
    around = np.zeros_like(vertices)
    np.add.at(around, edges[:, 0], vertices[edges[:, 1]])
    np.add.at(around, edges[:, 1], vertices[edges[:, 0]])
    count = _degree(edges, vertices)
    return vertices + np.where(count, part * (around / np.maximum(count, 1) - vertices), 0.0)


def sheet(halves: list[list[Image.Image]]) -> Image.Image:
    """Before on the left, after on the right: the whole figure, and two joints beside it."""
    wide = _FIGURE[0] + GAP + _DETAIL[0]
    between = 1920 - 2 * (GAP + wide)
    page = Image.new("RGB", (1920, 1080), PAGE)
    pen = ImageDraw.Draw(page)
    for half, ((whole, *details), (heading, colour)) in enumerate(
        zip(halves, HEADINGS, strict=True)
    ):
        left = GAP + half * (wide + between)
        pen.text((left + wide // 2, HEADER // 2), heading, colour, font(48), anchor="mm")
        page.paste(whole, (left, HEADER))
        for row, detail in enumerate(details):
            page.paste(detail, (left + _FIGURE[0] + GAP, HEADER + row * (_DETAIL[1] + GAP)))
    return page


def main() -> int:
    start = time.monotonic()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    dq_compensation.register()
    meshes, rig = build_dressed()
    light(meshes[0])
    for obj in meshes[1:]:
        _tailor(obj)
    for obj in meshes:
        armature = cast("bpy.types.ArmatureModifier", obj.modifiers["Armature"])
        armature.use_deform_preserve_volume = True
    skeleton = bind(meshes[0], bpy.context.evaluated_depsgraph_get()).skeleton

    def pictures() -> list[Image.Image]:
        found = list[Image.Image]()
        scene: Any = bpy.context.scene
        with tempfile.TemporaryDirectory() as folder:
            for size, joint, framing in SHOWN:
                number = skeleton.names.index(joint)
                parent = skeleton.names[skeleton.parents[number]]
                look(NamedPose(joint, joint, parent, POSE), framing, rig, skeleton)
                scene.render.resolution_x, scene.render.resolution_y = size
                found.append(render(Path(folder)))
        return found

    halves = [pictures()]
    api.enable(meshes, look="SOFT_WITH_TWIST")
    halves.append(pictures())
    save(sheet(halves), PICTURE, in_listing=True)
    FILE.parent.mkdir(parents=True, exist_ok=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(FILE))
    print(f"{time.monotonic() - start:.1f} s. To look at: {PICTURE.relative_to(PROJECT)}")
    return 0


def _tailor(obj: bpy.types.Object) -> None:
    """Cloth of one colour, with a thickness that shows at its edges, subdivided."""
    solid = cast("bpy.types.SolidifyModifier", obj.modifiers.new("Solidify", "SOLIDIFY"))
    solid.thickness, solid.offset = CLOTH, -1.0
    smooth = cast("bpy.types.SubsurfModifier", obj.modifiers.new("Subdivision", "SUBSURF"))
    smooth.levels, smooth.render_levels = 0, 1
    material = bpy.data.materials.new(obj.name)
    if material.node_tree is None:  # before Blender 5
        material.use_nodes = True
    shader = cast("Any", material.node_tree).nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = CLOTHES[obj.name][1]
    shader.inputs["Roughness"].default_value = 0.8
    cast("bpy.types.Mesh", obj.data).materials.append(material)


if __name__ == "__main__":
    leave(main())
