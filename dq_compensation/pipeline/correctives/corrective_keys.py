"""Makes example poses of corrective shape keys with drivers.

A corrective is made for Blender's Armature modifier: turned as far as its driver says 1, the bone
shows what the artist wanted. The example gets that look, not the offsets of the key: they are
different ones, because our deformer makes another surface of the same pose.

All correctives of one bone are taken together. In the pose of each, the look is what the others
make there as well; those that are 1 in one and the same pose become one example.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from bpy.types import Object
from mathutils import Quaternion

from ...analysis.posed_bones import Quaternion as Components
from ...analysis.posed_bones import posed_matrices
from ...core.example_poses import CLOSEST, SIGMA, ExampleError, rotation_distances, too_close
from ...errors import raise_refusal
from ...examples import authoring
from ...lifecycle.following import binding_with_current_softness
from ...modifier.base import preserves_volume
from ...scene.binding.binding import Binding
from ...scene.binding.capture import Capture, capture
from ...scene.binding.kept_examples import (
    ExampleItem,
    example_bone,
    example_items,
    example_placement,
)
from ...scene.blender.mesh import mesh_of
from ...scene.blender.placement import object_to_armature
from ...scene.blender.rigging import rig_of
from ...scene.blender.skinned_object import SkinnedObject
from ...scene.key_writing import remove_keys
from ...scene.settings.object_settings import Settings, choose_example, settings_of
from ...wording import rounded
from .driver_bones import driven_keys, driver_curve, read_driver
from .driver_probe import AT_REST, FULL, driver_probe

Drivers = Literal["MUTE", "REMOVE", "KEEP"]
"""The treatment of the correctives. MUTE: their drivers are muted and they are off. REMOVE: they
are removed with their drivers. KEEP: they go on acting, beside the examples."""

_REFUSAL_TWIST = (
    "{key} follows the twist of {bone}, whose examples compare only directions. Turn on Use Twist "
    "of the bone first."
)
_REFUSAL_CLOSE = "{key} is 1 in nearly the pose of {known} of {bone}."

_LEAST_OFFSET = 1e-6


@dataclass(frozen=True)
class TakenOver:
    """The result: new example poses, and refusals.

    Attributes:
        refused: why others were left alone, sentences for riggers.
        error: the largest distance, object space, from the look that was wanted.
    """

    examples: tuple[str, ...]
    keys: tuple[str, ...]
    refused: tuple[str, ...]
    error: float


@dataclass(eq=False)
class _Found:
    """A pose of a bone and the correctives that are 1 there."""

    bone: str
    rotation: Components
    keys: list[str]
    values: dict[str, float]
    item: ExampleItem | None = None


def examples_from_correctives(
    obj: Object, names: Iterable[str] | None = None, drivers: Drivers = "MUTE"
) -> TakenOver:
    """Take driven shape keys over as example poses.

    Args:
        names: of the keys; by default all that have a driver.

    Raises:
        ExampleError: none of them can be taken over; the message says why and nothing has changed.
        BindingError: the object cannot be deformed.
    """
    raise_refusal(authoring.authoring_refusal(obj), ExampleError)
    chosen = list(driven_keys(obj) if names is None else names)
    if not chosen:
        raise ExampleError(f"{obj.name} has no shape keys with drivers.")
    binding = binding_with_current_softness(obj)
    refused: list[str] = []
    found = _poses(obj, _readable(obj, chosen, binding, refused), refused)
    found = _placed(obj, found, binding, refused)
    if not found:
        raise ExampleError(" ".join(refused[:3]))
    captures = [_capture(obj, each, binding) for each in found]
    _write(obj, found, captures)
    keys = [key for each in found for key in each.keys]
    if drivers == "REMOVE":
        remove_keys(obj, keys)
    for name in keys if drivers == "MUTE" else ():
        driver_curve(obj, name).mute = True
        mesh_of(obj).shape_keys.key_blocks[name].value = 0.0
    return TakenOver(
        tuple(each.item.name for each in found if each.item is not None),
        tuple(keys),
        tuple(refused),
        max(each.error for each in captures),
    )


def _readable(
    obj: Object, names: Sequence[str], binding: Binding, refused: list[str]
) -> dict[str, str]:
    """The bone that each key follows; adds to the refusals for the others."""
    readable: dict[str, str] = {}
    for name in names:
        try:
            bone = read_driver(obj, name)
        except ExampleError as error:
            refused.append(str(error))
            continue
        if bone in binding.skeleton.names:
            readable[name] = bone
        else:
            refused.append(f"{name} follows {bone}, which the character does not know.")
    return readable


def _poses(obj: Object, keys: Mapping[str, str], refused: list[str]) -> list[_Found]:
    """The poses in which the keys are 1. Poses that are nearly equal become one."""
    found: list[_Found] = []
    if not keys:
        return found
    blocks = mesh_of(obj).shape_keys.key_blocks
    with driver_probe(obj, keys) as probe:
        for place, (key, bone) in enumerate(keys.items()):
            at_rest = float(probe.values(bone, np.zeros(3))[place])
            if abs(at_rest) > AT_REST:
                refused.append(f"{key} is on at rest already, by {rounded(at_rest, 2)}.")
                continue
            turn, value = probe.full_pose(bone, place)
            if value < FULL:
                refused.append(
                    f"{key} never gets to 1 by turning {bone}: to {rounded(value, 2)} at most."
                )
                continue
            w, x, y, z = Quaternion(turn.tolist())
            rotation = (w, x, y, z)
            same = [each for each in found if _is_same_pose(each, bone, rotation)]
            if same:
                same[0].keys.append(key)
                continue
            values: dict[str, float] = {}
            for other, value in zip(keys, probe.values(bone, turn).tolist(), strict=True):
                if keys[other] == bone:
                    block = blocks[other]
                    values[other] = min(max(value, block.slider_min), block.slider_max)
            found.append(_Found(bone, rotation, [key], values))
    return found


def _is_same_pose(found: _Found, bone: str, rotation: Components) -> bool:
    both = np.array([rotation]), np.array([found.rotation])
    return found.bone == bone and float(rotation_distances(*both)[0, 0]) < CLOSEST


def _placed(
    obj: Object, found: Sequence[_Found], binding: Binding, refused: list[str]
) -> list[_Found]:
    """The poses that can become examples, each with its item."""
    placed: list[_Found] = []
    for bone in dict.fromkeys(each.bone for each in found):
        of_bone = [each for each in found if each.bone == bone]
        known = [item for item in example_items(obj) if item.bone == bone]
        twists = known[0].twists if known else False
        items, close = _items(obj, of_bone, known, twists, binding)
        if close and not known:
            # What directions do not tell apart, full rotations do.
            items, close = _items(obj, of_bone, known, True, binding)
        refused.extend(close)
        for each in of_bone:
            each.item = items.get(each.keys[0])
        placed.extend(each for each in of_bone if each.item is not None)
    return placed


def _items(
    obj: Object,
    found: Sequence[_Found],
    known: Sequence[ExampleItem],
    twists: bool,
    binding: Binding,
) -> tuple[dict[str, ExampleItem], list[str]]:
    """The items of one bone's poses by their first keys, and why other poses get no item."""
    skeleton, limb_axis = binding.skeleton, Settings.of(obj).limb_axis
    bone = skeleton.names.index(found[0].bone)
    limb = skeleton.limb_directions(limb_axis)[bone]
    sigma, weights = (known[0].sigma, known[0].weights) if known else (SIGMA, "AUTO")
    items: dict[str, ExampleItem] = {}
    close: list[str] = []
    for each in found:
        pose = _captured(obj, each, binding).pose(binding)
        placement = example_placement(bone, pose, skeleton, limb_axis)
        direction, rotation = (tuple(row.tolist()) for row in placement)
        name = _free_name(each.keys[0], {item.name for item in (*known, *items.values())})
        key = authoring.key_name(each.bone, name)
        item = ExampleItem(name, each.bone, key, direction, rotation, 1.0, sigma, twists, weights)
        example = example_bone(bone, [*known, *items.values(), item], skeleton)
        pair = too_close(example, limb)
        if pair is None:
            items[each.keys[0]] = item
        else:
            other = next(each for each in pair if each != name)
            what = _REFUSAL_TWIST if other == "rest" and not twists else _REFUSAL_CLOSE
            close.append(what.format(key=each.keys[0], bone=each.bone, known=other))
    return items, close


def _free_name(name: str, taken: Collection[str]) -> str:
    free, number = name, 1
    while free in taken or free == "rest":
        free, number = f"{name} {number}", number + 1
    return free


def _captured(obj: Object, found: _Found, binding: Binding) -> authoring.CapturedPose:
    """The pose of some correctives, with the values of the keys in it."""
    skeleton, there = binding.skeleton, object_to_armature(obj, rig_of(obj))
    matrices = posed_matrices(skeleton, {skeleton.names.index(found.bone): found.rotation})
    return authoring.CapturedPose(skeleton.names, matrices, there, found.values)


def _capture(obj: Object, found: _Found, binding: Binding) -> Capture:
    """Find the offsets that give the look of the Armature modifier in the pose."""
    preserves, settings = preserves_volume(SkinnedObject(obj)), authoring.by_example(obj)
    method = "DUAL_QUATERNION" if preserves else "LINEAR"
    native = replace(settings, acting_method=method, blend_group="")
    captured = _captured(obj, found, binding)
    wanted = captured.deformer(binding, native)(captured.shape(binding))
    deformer, everywhere = captured.deformer(binding, settings), np.ones(binding.vertex_count)
    return capture(binding, deformer, binding.rest, wanted, everywhere)


def _write(obj: Object, found: list[_Found], captures: list[Capture]) -> None:
    """Add the examples, their keys, and supports with all vertices that they move."""
    pairs = list(zip(found, captures, strict=True))
    for each, captured in pairs:
        assert each.item is not None
        authoring.bone_settings(obj, each.bone).twists = each.item.twists
        authoring.write_example(obj, each.item, captured.offsets)
    for bone in dict.fromkeys(each.bone for each in found):
        if not authoring.bone_settings(obj, bone).support:
            offsets = np.array([one.offsets for each, one in pairs if each.bone == bone])
            moved = np.abs(offsets).max(axis=(0, 2)) > _LEAST_OFFSET
            authoring.write_support(obj, bone, moved.astype(np.float32))
    choose_example(obj, len(settings_of(obj).examples) - 1)
