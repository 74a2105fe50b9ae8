"""Chooses the poses that get a corrective shape key, by the geometry of the limbs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import bpy
import numpy as np

from ...analysis.corrective_joints import CorrectiveJoint, ball_joint, hinge_joint, twist_joint
from ...core.influences import Influences
from ...core.skeleton import Skeleton
from ...errors import UserError
from ...scene.binding.binding import Binding
from ...scene.blender.armature import deforming_bones
from ...scene.blender.bone_names import flipped_name
from ...scene.blender.rigging import rig_of
from ...wording import listed
from ..key_options import CorrectiveOptions

# A limb bent by less at rest does not tell where its joint bends.
LEAST_REST_BEND = 5.0

# A limb bent by more at rest is a hinge that goes back to straight and no further.
LEAST_HINGE = 20.0

# Within this of the bone's own X or Z, that is the axis.
SNAP = 12.0

# A joint matters when this many vertices follow both of its bones.
LEAST_VERTICES = 32

# A weight below this does not count there.
_LEAST_WEIGHT = 0.01

REFUSAL_ANGLES = (
    'The angles "{text}" cannot be read. Write degrees between 1 and 170, like this: 45, 90.'
)


@dataclass(frozen=True)
class Bend:
    """The bend of a joint.

    Attributes:
        azimuth: of the axis in the bone's rest axes: radians from X towards Z; a positive angle
            bends the limb further.
        at_rest: by how much it is bent at rest, degrees; 0 where it is straight.
    """

    azimuth: float
    at_rest: float


def read_angles(text: str) -> tuple[float, ...]:
    """Angles in degrees, as typed: ``45, 90``; rising, signs dropped, each once.

    Raises:
        UserError: it has something else in it.
    """
    parts = [part for part in re.split(r"[,;\s]+", text.replace("°", " ")) if part]
    try:
        angles = [float(part) for part in parts]
    except ValueError as error:
        raise UserError(REFUSAL_ANGLES.format(text=text)) from error
    return checked_angles(angles, text)


def checked_angles(angles: Iterable[float], text: str = "") -> tuple[float, ...]:
    """Angles in degrees, rising, signs dropped, each once.

    Args:
        text: as they were typed, for the error.

    Raises:
        UserError: one of them is not between 1 and 170.
    """
    found = sorted({abs(float(angle)) for angle in angles})
    if any(not 1.0 <= angle <= 170.0 for angle in found):
        text = text or ", ".join(f"{angle:g}" for angle in found)
        raise UserError(REFUSAL_ANGLES.format(text=text))
    return tuple(found)


def limb_bend(skeleton: Skeleton, bone: int) -> Bend:
    """The bend of the limb at a bone: about the normal of the plane of its parent limb and its own.

    The parent limb goes from the parent's head to the bone's, the own one where
    `Skeleton.limb_directions` says. Where they are in line, or there is no parent, it is the bone's
    X axis.
    """
    parent = int(skeleton.parents[bone])
    if parent < 0:
        return Bend(0.0, 0.0)
    before = skeleton.heads[bone] - skeleton.heads[parent]
    length = float(np.linalg.norm(before))
    before = before / length if length > 0.0 else skeleton.rest[parent, :3, 1]
    after = skeleton.limb_directions()[bone]
    normal = np.cross(before, after)
    sine = float(np.linalg.norm(normal))
    at_rest = float(np.degrees(np.arctan2(sine, before @ after)))
    if at_rest < LEAST_REST_BEND or sine < 1e-6:
        return Bend(0.0, 0.0)
    x, _, z = skeleton.rest[bone, :3, :3].T @ normal
    azimuth = float(np.arctan2(z, x))
    quarter = np.pi / 2.0
    nearest = round(azimuth / quarter) * quarter
    if abs(azimuth - nearest) < np.radians(SNAP):
        azimuth = nearest
    return Bend(azimuth, at_rest)


def chosen_joints(
    skeleton: Skeleton, names: Iterable[str], options: CorrectiveOptions
) -> list[CorrectiveJoint]:
    """The joints of these bones, with the bends and twists that get a key.

    Raises:
        UserError: there is no angle at all.
    """
    angles, twists = tuple(options.angles), tuple(options.twists)
    if not angles and not twists:
        raise UserError("Give at least one angle.")
    joints: list[CorrectiveJoint] = []
    for name in names:
        if angles:
            joints.append(_bending_joint(skeleton, name, angles, options))
        if twists:
            joints.append(twist_joint(name, (*(-angle for angle in twists[::-1]), *twists)))
    return joints


def _bending_joint(
    skeleton: Skeleton, name: str, angles: tuple[float, ...], options: CorrectiveOptions
) -> CorrectiveJoint:
    """A bone and the poses in which it is bent.

    Backwards as well where it is wanted; a limb that is bent by `LEAST_HINGE` at rest, for LIMBS,
    only back to straight.
    """
    if options.directions in {"FOUR", "EIGHT"}:
        return ball_joint(name, 4 if options.directions == "FOUR" else 8, angles)
    bend = Bend(0.0 if options.directions == "X" else np.pi / 2.0, 0.0)
    if options.directions == "LIMBS":
        bend = limb_bend(skeleton, skeleton.names.index(name))
    backwards: tuple[float, ...] = ()
    if options.both_ways:
        straight = round(bend.at_rest) if bend.at_rest >= LEAST_HINGE else np.inf
        backwards = tuple(sorted({-min(angle, straight) for angle in angles}))
    return hinge_joint(name, bend.azimuth, (*backwards, *angles))


def with_mirrored(names: Iterable[str], skeleton: Skeleton) -> list[str]:
    """The names and those of the other side's bones that exist, each once."""
    known = set(skeleton.names)
    found: dict[str, None] = {}
    for name in names:
        found[name] = None
        other = flipped_name(name)
        if other in known:
            found[other] = None
    return list(found)


def deforming_names(obj: bpy.types.Object, names: Iterable[str]) -> list[str]:
    """Check that all names are deforming bones of an object's armature, and return them.

    Raises:
        UserError: one of them is not, or there are none.
    """
    names = list(names)
    armature = rig_of(obj)
    deforming = deforming_bones(armature)
    unknown = [name for name in names if name not in deforming]
    if unknown:
        raise UserError(f"{armature.name} has no deforming bone {listed(unknown)}.")
    return names


def joints_that_matter(binding: Binding) -> list[str]:
    """The bones at whose joint with the next deforming bone above them enough vertices blend.

    Returns:
        names, parents before children.
    """
    found = blending_joints(binding.influences, binding.skeleton, LEAST_VERTICES)
    return [binding.skeleton.names[child] for _, child in found]


def blending_joints(
    influences: Influences, skeleton: Skeleton, least: int
) -> list[tuple[int, int]]:
    """The joints of a bone and the next one above it that moves vertices.

    Args:
        least: so many vertices follow both bones.

    Returns:
        the bone above and the bone, indices; parents before children.
    """
    follows = np.zeros((skeleton.bone_count, influences.vertex_count), np.bool_)
    for rows, bones, weights in influences.slots():
        vertices = np.arange(influences.vertex_count)[rows]
        strong = weights > _LEAST_WEIGHT
        follows[bones[strong], vertices[strong]] = True
    moving = follows.any(axis=1)
    found = []
    for bone in np.flatnonzero(moving).tolist():
        above = int(skeleton.parents[bone])
        while above >= 0 and not moving[above]:
            above = int(skeleton.parents[above])
        if above >= 0 and np.count_nonzero(follows[bone] & follows[above]) >= least:
            found.append((above, bone))
    return found
