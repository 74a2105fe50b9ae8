"""Transitions that are too narrow or too wide, on the human and on a plain cylinder."""

from __future__ import annotations

import bpy
import numpy as np

from dq_compensation.analysis.transitions import quantile_of_share, share_of_quantile
from dq_compensation.scene.blender.mesh import read_weights
from dq_compensation.scene.vertex_groups import write_groups
from tests.blender.conftest import Human
from tests.blender.scene_builders import add_mesh, edit_mode, link


def cylinder(
    width: float,
    shift: float = 0.0,
    beside: float = 0.0,
    rows: int = 81,
    columns: int = 24,
    reach: float = 4.0,
) -> tuple[bpy.types.Object, bpy.types.Object]:
    """A limb along Z with a radius of 0.1 from -0.4 to 0.4, two bones that meet in its middle.

    Args:
        width: of the transition, in radii.
        shift: of its middle from the joint, in radii.
        beside: how far the bones lie beside the middle of the limb, in radii.
        rows, columns: of vertices, along the limb and around it.
        reach: how far it goes on both sides of the joint, in radii.
    """
    z, angles = np.meshgrid(
        np.linspace(-reach, reach, rows), 2.0 * np.pi * np.arange(columns) / columns, indexing="ij"
    )
    positions = 0.1 * np.stack((np.cos(angles), np.sin(angles), z), axis=-1).reshape(-1, 3)
    places = np.arange(rows * columns).reshape(rows, columns)
    around = np.roll(places, -1, axis=1)
    faces = np.stack((places[:-1], around[:-1], around[1:], places[1:]), axis=-1)
    limb = add_mesh(positions.tolist(), faces.reshape(-1, 4).tolist(), name="Limb")
    rig = link(bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig")))
    with edit_mode(rig):
        parent = None
        for name, start in (("upper", -0.4), ("lower", 0.0)):
            bone = rig.data.edit_bones.new(name)
            bone.head, bone.tail = (0.1 * beside, 0.0, start), (0.1 * beside, 0.0, start + 0.4)
            bone.parent, parent = parent, bone
    shares = share_of_quantile((z.ravel() - shift) / width)
    write_groups(limb, {"upper": 1.0 - shares, "lower": shares})
    limb.modifiers.new("Armature", "ARMATURE").object = rig
    limb.dq_compensation.curve = "FITTED"
    return limb, rig


def narrow(human: Human) -> None:
    """Both knees cross over in a third of the width, below the joint; with the fitted curve."""
    obj = human.mesh_object
    obj.dq_compensation.curve = "FITTED"
    for side in "LR":
        names = (f"upperleg02.{side}", f"lowerleg01.{side}")
        read = read_weights(obj.data)
        thigh, shin = (read.of_group(obj.vertex_groups[name].index) for name in names)
        vertices = np.flatnonzero((thigh > 0.0) & (shin > 0.0))
        together = (thigh + shin)[vertices].astype(np.float64)
        shares = share_of_quantile(3.0 * quantile_of_share(shin[vertices] / together) - 2.0)
        weights = (together * (1.0 - shares), together * shares)
        write_groups(obj, dict(zip(names, weights, strict=True)), vertices)


PLANTED = {"weight_transition/narrow": narrow}
