"""The base that example poses were sculpted on, and their way to another one.

An example is an offset at rest: on another base, or with softer weights, the same offset makes
another shape. So each example knows the base that its shape was made on, and its shape can be taken
over: the offsets become those that show it on the present base.
"""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.dual_quaternion import matrices_from_quaternions
from ..core.pose import Pose
from ..core.skeleton import Skeleton
from ..lifecycle.following import settled_binding
from ..scene.binding.binding import Binding
from ..scene.binding.stored_examples import ExampleItem, example_bone, example_items
from ..scene.settings.object_settings import setting_label, settings_of
from ..scene.weights.softness import with_softness
from ..wording import listed
from .apply_shape import follow_now
from .authoring import by_example, give_shape
from .captured_pose import CapturedPose
from .items import base_now, require_bone


def other_bases(obj: bpy.types.Object) -> dict[int, str]:
    """The examples that were sculpted on another base than the present one, by their places.

    Each with its base, `items.base_now` then. Those of earlier versions do not know theirs.
    """
    now = base_now(obj)
    made_on = ((index, item.made_on) for index, item in enumerate(settings_of(obj).examples))
    return {index: base for index, base in made_on if base not in {"", now}}


def base_sentence(obj: bpy.types.Object) -> str:
    """A sentence for the panel on examples that were sculpted on another base; empty for none."""
    others = other_bases(obj)
    if not others:
        return ""
    names = listed([settings_of(obj).examples[index].name for index in others])
    base, softness = next(iter(others.values())).split()
    label = setting_label(obj, "example_base", base)
    return f"{names}: sculpted on {label}, Softness {float(softness):.2f}. It looks different now."


def take_over(obj: bpy.types.Object) -> list[str]:
    """Let examples show the shapes that were sculpted, on the present base; returns their names.

    In the poses of the examples the vertices in the support are where they were.

    Raises:
        ExampleError, BindingError, PoseError, UserError: one cannot be taken over; those before it
            have been.
    """
    binding = settled_binding(obj)
    done = []
    for index, base in other_bases(obj).items():
        method, softness = base.split()
        before = with_softness(obj, binding, float(softness))
        settings = by_example(obj).with_method("SPHERICAL_JOINT_BY_EXAMPLE", method)  # type: ignore[arg-type]
        item = example_items(obj)[index]
        captured = _pose_of(item, binding)
        wanted = captured.deformer(before, settings)(captured.shape(before))
        give_shape(obj, index, captured, wanted)
        done.append(item.name)
    follow_now(obj)
    return done


def _pose_of(item: ExampleItem, binding: Binding) -> CapturedPose:
    """The pose of an example: its bone is turned, all else is at rest, no other key is on."""
    skeleton = binding.skeleton
    bone = require_bone(binding, item.bone)
    turned = matrices_from_quaternions(example_bone(bone, [item], skeleton).rotations[0])
    matrices = np.tile(np.eye(4), (skeleton.row_count, 1, 1))
    matrices[_below(bone, skeleton)] = _about(skeleton.rest[bone][:3, 3], turned)
    moved = Pose.from_matrices(matrices, skeleton).matrices
    return CapturedPose(skeleton.names, moved, binding.object_to_armature, {item.key: 1.0})


def _about(head: NDArray[np.floating], turned: NDArray[np.floating]) -> NDArray[np.float64]:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = turned, head - turned @ head
    return matrix


def _below(bone: int, skeleton: Skeleton) -> NDArray[np.bool_]:
    """The rows of a pose that follow a bone, shape (R,)."""
    follows = np.zeros(skeleton.bone_count, np.bool_)
    follows[bone] = True
    for child, parent in enumerate(skeleton.parents):
        follows[child] |= parent >= 0 and follows[parent]
    return follows[skeleton.bone_of_row]
