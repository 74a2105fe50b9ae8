"""The human whose hand is a mesh of its own that does not go with the arm at the seam."""

from __future__ import annotations

import bmesh
import bpy
import numpy as np

from tests.blender.conftest import Human
from tests.blender.enabled_scenes import enable


def cut_hand(human: Human) -> bpy.types.Object:
    """Make a hand a mesh of its own, in one place and with the same weights at the cut."""
    body = human.mesh_object
    hand = body.copy()
    hand.data, hand.name = body.data.copy(), "Hand"
    bpy.context.collection.objects.link(hand)
    wrist = 0.8 * max(vertex.co.x for vertex in body.data.vertices)
    # The body keeps its vertices: other scenes are planted by their indices.
    cuts = ((body, lambda x: x < wrist, "FACES_ONLY"), (hand, lambda x: x >= wrist, "FACES"))
    for obj, keeps, context in cuts:
        edited = bmesh.new()
        edited.from_mesh(obj.data)
        gone = [face for face in edited.faces if not keeps(face.calc_center_median().x)]
        bmesh.ops.delete(edited, geom=gone, context=context)
        edited.to_mesh(obj.data)
        edited.free()
    return hand


def rim(hand: bpy.types.Object) -> list[int]:
    """The vertices at the open edges of the hand."""
    edited = bmesh.new()
    edited.from_mesh(hand.data)
    found = [vertex.index for vertex in edited.verts if vertex.is_boundary]
    edited.free()
    return found


def other_weights(human: Human) -> None:
    """The hand follows other bones at the cut."""
    hand = cut_hand(human)
    group = next(each for each in hand.vertex_groups if each.name.startswith("upperarm"))
    group.add(rim(hand), 0.25, "ADD")


def _apart(human: Human) -> None:
    size = float(np.ptp(human.arrays.vertices, axis=0).max())
    hand = cut_hand(human)
    for index in rim(hand)[::2]:
        hand.data.vertices[index].co.z += 4e-4 * size


def _other_settings(human: Human) -> None:
    hand = cut_hand(human)
    for obj in (human.mesh_object, hand):
        enable(obj)
    hand.dq_compensation.factor = 0.5


PLANTED = {
    "open_seams/other_weights": other_weights,
    "open_seams/apart": _apart,
    "open_seams/other_settings": _other_settings,
}
