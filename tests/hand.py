"""The human's left hand on the bones that WebXR names for headsets: with parents, or flat.

A headset's hand has 25 bones without parents, and the tails that an importer makes are a guess.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Literal, get_args

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from human.model import HumanArrays, build_from, load_human_arrays

Tails = Literal["ALONG", "UP", "X", "RANDOM", "REVERSED", "LONG", "SHORT"]
"""Where tails point: along the limbs; all one way; anywhere; back to front; up, 1 m or 1 mm off."""
WRONG_TAILS: tuple[Tails, ...] = get_args(Tails)[1:]

FINGERS = ("thumb", "index-finger", "middle-finger", "ring-finger", "pinky-finger")
_THUMB = ("metacarpal", "phalanx-proximal", "phalanx-distal")
_FINGER = ("metacarpal", "phalanx-proximal", "phalanx-intermediate", "phalanx-distal")
# The bone of a tip starts here, in parts of the last bone, and has this weight at its end. Its skin
# starts a little before.
_TIP, _TIP_WEIGHT, _TIP_SKIN = 0.95, 0.2, 0.75


def bones_of(finger: str) -> tuple[str, ...]:
    """The names of a finger's bones that move skin, from the wrist out."""
    return tuple(f"{finger}-{part}" for part in (_THUMB if finger == "thumb" else _FINGER))


def joint_parents(*, tips: bool = True) -> dict[str, str]:
    """The parent of each bone with one, parents first."""
    chains = (("wrist", *bones_of(finger), *([f"{finger}-tip"] * tips)) for finger in FINGERS)
    return {child: parent for chain in chains for parent, child in pairwise(chain)}


def build_hand(
    *, flat: bool, tails: Tails = "ALONG", tips: bool = True
) -> tuple[bpy.types.Object, bpy.types.Object]:
    """The skinned hand in the current scene: the mesh object and the armature object."""
    mesh_object, armature_object = build_from(hand_arrays(flat=flat, tails=tails, tips=tips))
    mesh_object.name, armature_object.name = "Hand", "Hand Rig"
    bpy.context.view_layer.update()
    return mesh_object, armature_object


def pose_fingers(armature: bpy.types.Object, degrees: float, turned: float = 0.0) -> None:
    """Bend all joints of the fingers, whatever parents and tails the bones have.

    Args:
        turned: of the whole hand, degrees about the vertical.
    """
    moved = bent_fingers(degrees)
    whole = Matrix.Rotation(np.radians(turned), 4, "Z")
    for pose_bone in armature.pose.bones:
        rest, parent = pose_bone.bone.matrix_local, pose_bone.parent
        here = whole @ Matrix(moved[pose_bone.name])
        above = whole @ Matrix(moved[parent.name]) if parent is not None else Matrix()
        pose_bone.matrix_basis = rest.inverted() @ above.inverted() @ here @ rest
    bpy.context.view_layer.update()


def bent_fingers(degrees: float) -> dict[str, NDArray[np.float64]]:
    """How far each bone is moved from rest, (4, 4) each, with the fingers bent to the palm."""
    arrays = hand_arrays()
    heads = dict(zip(arrays.names, arrays.heads.astype(np.float64), strict=True))
    knuckles = heads["index-finger-phalanx-proximal"] - heads["pinky-finger-phalanx-proximal"]
    palm = np.cross(knuckles, heads["middle-finger-tip"] - heads["middle-finger-metacarpal"])
    moved = {"wrist": np.eye(4)}
    for bone, parent in joint_parents().items():
        moved[bone] = moved[parent]
        if "phalanx" in bone:
            limb = heads[bone] - heads[parent]
            axis = np.cross(limb, palm) if "thumb" in bone else knuckles
            axis = axis - limb * (axis @ limb) / (limb @ limb)
            turn = np.eye(4)
            turn[:3, :3] = _rotation(axis / np.linalg.norm(axis), np.radians(degrees))
            turn[:3, 3] = heads[bone] - turn[:3, :3] @ heads[bone]
            moved[bone] = moved[parent] @ turn
    return moved


@cache
def hand_arrays(*, flat: bool = False, tails: Tails = "ALONG", tips: bool = True) -> HumanArrays:
    """The hand: 1,602 vertices with the weights of the human, bones where its joints are.

    Args:
        flat: whether no bone has a parent.
        tips: whether there are bones for the fingertips, which move hardly any skin.
    """
    human = load_human_arrays("default")
    sources = _sources()
    of_hand = np.isin(_strongest(human), [human.names.index(name) for name in sources])
    faces = human.faces[of_hand[human.faces].all(axis=1)]
    stays = np.bincount(faces.ravel(), minlength=len(of_hand)) > 0
    place = np.cumsum(stays) - 1
    names = list(sources.values())
    # What follows no bone of the hand follows the wrist.
    row = np.array([names.index(sources.get(name, "wrist")) for name in human.names])
    kept = stays[human.weight_vertex]
    weights = np.zeros((int(stays.sum()), len(names)))
    entries = place[human.weight_vertex[kept]], row[human.weight_bone[kept]]
    np.add.at(weights, entries, human.weight[kept])
    rows = [human.names.index(name) for name in sources]
    heads, ends = human.heads[rows].astype(np.float64), human.tails[rows].astype(np.float64)
    vertices = human.vertices[stays]
    for finger in FINGERS if tips else ():
        last = names.index(bones_of(finger)[-1])
        along = ends[last] - heads[last]
        way = (vertices - heads[last]) @ along / (along @ along)
        share = _TIP_WEIGHT * np.clip((way - _TIP_SKIN) / (1.0 - _TIP_SKIN), 0.0, 1.0)
        of_tip = share * weights[:, last]
        weights[:, last] -= of_tip
        weights = np.column_stack((weights, of_tip))
        names.append(f"{finger}-tip")
        heads = np.vstack((heads, heads[last] + _TIP * along))
        ends = np.vstack((ends, ends[last] + 0.2 * along))
    above = {} if flat else joint_parents(tips=tips)
    weight_vertex, weight_bone = np.nonzero(weights > 0.0)
    return replace(
        human,
        vertices=vertices,
        faces=place[faces].astype(np.int32),
        names=tuple(names),
        parents=np.array([names.index(above[n]) if n in above else -1 for n in names], np.int16),
        heads=heads.astype(np.float32),
        tails=_tails(tails, heads, ends).astype(np.float32),
        rolls=np.zeros(len(names), np.float32),
        weight_vertex=weight_vertex.astype(np.int32),
        weight_bone=weight_bone.astype(np.int16),
        weight=weights[weight_vertex, weight_bone].astype(np.float32),
    )


def _sources() -> dict[str, str]:
    """The bones of the human and what they are called here, parents first."""
    found = {"wrist.L": "wrist"}
    for number, finger in enumerate(FINGERS, 1):
        palm = () if number == 1 else (f"metacarpal{number - 1}.L",)
        joints = (f"finger{number}-{joint}.L" for joint in (1, 2, 3))
        found |= dict(zip((*palm, *joints), bones_of(finger), strict=True))
    return found


def _strongest(human: HumanArrays) -> NDArray[np.intp]:
    """The bone that moves each vertex most."""
    order = np.lexsort((human.weight, human.weight_vertex))
    strongest = np.zeros(len(human.vertices), np.intp)
    strongest[human.weight_vertex[order]] = human.weight_bone[order]
    return strongest


def _tails(
    tails: Tails, heads: NDArray[np.float64], ends: NDArray[np.float64]
) -> NDArray[np.float64]:
    limbs = ends - heads
    lengths = np.linalg.norm(limbs, axis=1, keepdims=True)
    if tails == "ALONG":
        return ends
    if tails == "REVERSED":
        return heads - limbs
    if tails == "RANDOM":
        anywhere = np.random.default_rng(0).normal(size=heads.shape)
        return heads + lengths * anywhere / np.linalg.norm(anywhere, axis=1, keepdims=True)
    if tails == "X":
        return heads + lengths * [1.0, 0.0, 0.0]
    return heads + {"UP": lengths, "LONG": 1.0, "SHORT": 0.001}[tails] * np.array([0.0, 0.0, 1.0])


def _rotation(axis: NDArray[np.float64], angle: float) -> NDArray[np.float64]:
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
