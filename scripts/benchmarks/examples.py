"""Example poses for what the benchmarks deform: bones of the chain with four bends each."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np
from numpy.typing import NDArray

from dq_compensation.core.dual_quaternion import quaternions_from_axis_angle, rotate_vectors
from dq_compensation.core.example_poses import ExampleBone
from dq_compensation.core.example_support import support
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.scene.binding.binding import Binding
from dq_compensation.scene.key_writing import write_key
from dq_compensation.scene.settings.object_settings import settings_of

BENDS = (45.0, 90.0, -45.0, -90.0)


def bent(skeleton: Skeleton, bones: Sequence[int]) -> list[ExampleBone]:
    """Four example poses of each bone: bent about Z."""
    axes = np.tile((0.0, 0.0, 1.0), (len(BENDS), 1))
    rotations = quaternions_from_axis_angle(axes, np.radians(BENDS))
    limbs = skeleton.limb_directions()
    names = tuple(f"{bend:g}" for bend in BENDS)
    return [
        ExampleBone(bone, names, rotate_vectors(rotations, np.tile(limbs[bone], (4, 1))), rotations)
        for bone in bones
    ]


def add_bent_examples(obj: bpy.types.Object, binding: Binding, bones: Sequence[int]) -> None:
    """Four example poses of each bone, with a bump of their own in the bone's support."""
    settings, skeleton = settings_of(obj), binding.skeleton
    for example in bent(skeleton, bones):
        bump = bump_in_support(binding, example.bone)
        name = skeleton.names[example.bone]
        for number, pose in enumerate(example.names):
            key = write_key(obj, f"{name} {pose}", (0.5 + 0.1 * number) * bump)
            key.mute = True
            item = settings.examples.add()
            item.name, item.bone, item.key = pose, name, key.name
            # The chain's bones are straight: along the axes of the parent all is as in the armature
            # but for the order of the axes.
            axes = skeleton.rest[int(skeleton.parents[example.bone]), :3, :3]
            item.direction = tuple((example.directions[number] @ axes).tolist())
            w, *axis = example.rotations[number].tolist()
            item.rotation = (w, *(np.array(axis) @ axes).tolist())


def bump_in_support(binding: Binding, bone: int) -> NDArray[np.float64]:
    """Offsets upwards in the support of a bone, shape (n, 3)."""
    inside = support(bone, binding.influences, binding.skeleton)
    offsets = np.zeros((binding.vertex_count, 3))
    offsets[inside, 2] = 0.01
    return offsets
