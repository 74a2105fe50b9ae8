"""Example poses made of corrective shape keys with drivers, a subject of its own.

A corrective is made for Blender's Armature modifier: turned as far as its driver says 1, the bone
shows what the artist wanted. The example gets that look, not the offsets of the key: they are
different ones, because our deformer makes another surface of the same pose.

All correctives of one bone are taken together. In the pose of each, the look is what the others
make there as well; those that are 1 in one and the same pose become one example.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import bpy
import numpy as np
from bpy.types import Depsgraph, Object, Scene
from mathutils import Quaternion
from numpy.typing import NDArray

from ...analysis.bone_axes import Quaternion as Components
from ...analysis.bone_axes import posed_matrices
from ...arrays import Float64s, Floats
from ...core.example_poses import CLOSEST, SIGMA, ExampleError, rotation_distances, too_close
from ...errors import raise_refusal
from ...examples import authoring
from ...lifecycle.following import binding_with_current_softness
from ...modifier.base import preserves_volume
from ...scene.binding.binding import Binding
from ...scene.binding.numpy_evaluator import Capture, capture
from ...scene.binding.shape_key_offsets import (
    ExampleItem,
    example_bone,
    example_items,
    example_placement,
)
from ...scene.blender.animation_curves import bone_of_property, property_drivers
from ...scene.blender.armature import armature_of, object_to_armature
from ...scene.blender.mesh import mesh_of
from ...scene.blender.rigging import rig_of
from ...scene.blender.skinned_object import SkinnedObject
from ...scene.copies import free_armature
from ...scene.key_writing import remove_keys, value_path
from ...scene.settings.object_settings import Settings, choose_example, settings_of
from ...wording import rounded

# Finds out which bone the driver of a corrective shape key follows, and how it is read.
#
# Recognised are drivers, simple and scripted, whose variables all read the rotation of one bone of
# the character's armature:
#
# - Transform Channel of the bone, any rotation, in any mode and space;
# - Rotational Difference between the bone and another one above it;
# - Single Property of the pose bone's own rotation channels, in the rotation mode that it has;
# - Single Property of the array property that Bake Correctives has made for the bone.
#
# What reads a location, a scale, a distance, another object, a bone's custom property or several
# bones is not an example of one bone's pose.

_REFUSAL_OTHER = "{key} is driven by something else than bones of {armature}: {what}."
_REFUSAL_CHANNEL = "{key} is driven by the {what} of {bone}. An example can only follow a rotation."

_BONE_PATH = re.compile(r'^pose\.bones\[("(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\')\]\.(\w+)')
_CHANNEL_MODES = {
    "rotation_quaternion": frozenset({"QUATERNION"}),
    "rotation_axis_angle": frozenset({"AXIS_ANGLE"}),
    "rotation_euler": frozenset({"XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"}),
}


def _driver_curve(obj: Object, key: str) -> Any | None:
    """The driver's curve of a key's value; None without one."""
    keys = mesh_of(obj).shape_keys
    animation = keys.animation_data if keys is not None else None
    return animation.drivers.find(value_path(key)) if animation is not None else None


def driven_keys(obj: Object) -> list[str]:
    """The names of the keys with a driver that acts."""
    keys = mesh_of(obj).shape_keys
    names = [block.name for block in keys.key_blocks] if keys is not None else []
    curves = {name: _driver_curve(obj, name) for name in names}
    return [name for name, curve in curves.items() if curve is not None and not curve.mute]


def _read_driver(obj: Object, key: str) -> str:
    """The bone that the driver of a key follows; ExampleError where it follows none."""
    curve = _driver_curve(obj, key)
    if curve is None:
        raise ExampleError(f"{key} has no driver.")
    variables = curve.driver.variables
    bones = list(dict.fromkeys(bone for each in variables for bone in _bones_of(each, obj, key)))
    if not bones:
        raise ExampleError(f"The driver of {key} reads nothing.")
    if len(bones) > 1:
        raise ExampleError(f"{key} is driven by several bones: {', '.join(bones)}.")
    return bones[0]


def _bones_of(variable: Any, obj: Object, key: str) -> Iterator[str]:
    """The bones that a variable follows; raises `ExampleError` where it follows anything else."""
    armature = rig_of(obj)
    if variable.type == "TRANSFORMS":
        target = variable.targets[0]
        bone = _checked_bone(target, armature, key)
        if not target.transform_type.startswith("ROT"):
            what = "scale" if target.transform_type.startswith("SCALE") else "location"
            raise ExampleError(_REFUSAL_CHANNEL.format(key=key, what=what, bone=bone))
        yield bone
    elif variable.type == "ROTATION_DIFF":
        pair = [_checked_bone(target, armature, key) for target in variable.targets]
        bones = armature.pose.bones
        lower = [name for name in pair if any(p.name in pair for p in bones[name].parent_recursive)]
        yield from lower or pair
    elif variable.type == "SINGLE_PROP":
        yield _bone_of_path(variable.targets[0], obj, key)
    else:
        what = variable.bl_rna.properties["type"].enum_items[variable.type].name
        raise ExampleError(_REFUSAL_OTHER.format(key=key, armature=armature.name, what=what))


def _checked_bone(target: Any, armature: Object, key: str) -> str:
    if target.id != armature or target.bone_target not in armature.pose.bones:
        what = target.bone_target or (target.id.name if target.id is not None else "nothing")
        raise ExampleError(_REFUSAL_OTHER.format(key=key, armature=armature.name, what=what))
    return target.bone_target


def _bone_of_path(target: Any, obj: Object, key: str) -> str:
    armature = rig_of(obj)
    if target.id == obj:
        bone = bone_of_property(target.data_path, [each.name for each in armature.pose.bones])
        if bone is not None:
            return bone
    found = _BONE_PATH.match(target.data_path) if target.id == armature else None
    name = bpy.utils.unescape_identifier(found.group(1)[1:-1]) if found is not None else ""
    if found is None or name not in armature.pose.bones:
        what = target.data_path or "nothing"
        raise ExampleError(_REFUSAL_OTHER.format(key=key, armature=armature.name, what=what))
    channel, mode = found.group(2), armature.pose.bones[name].rotation_mode
    if channel not in _CHANNEL_MODES:
        raise ExampleError(_REFUSAL_CHANNEL.format(key=key, what=channel, bone=name))
    if mode not in _CHANNEL_MODES[channel]:
        raise ExampleError(
            f"{key} is driven by {channel} of {name}, whose rotation mode is {mode}, so that it "
            "never changes."
        )
    return name


# Turns a bone of a copied armature through its range, and reads the values of drivers.
#
# The drivers are copied onto an empty object in a scene of its own, so no mesh is evaluated and the
# user sees nothing of it. What they read of other bones, of constraints and of animation is at
# rest.

# A driver that comes within this of 1 and goes back is at its pose.
FULL = 0.995
# What a driver may be at rest.
_AT_REST = 0.01

_VALUES = "values"
_STEP = np.radians(5.0)
_AXES = np.eye(3)
# The search beyond the axes: from steps of 20 degrees to steps of a twentieth.
_WIDEST, _NARROWEST = np.radians(20.0), np.radians(0.05)


class DriverProbe:
    """Turns a bone, and reads the values of the keys that follow it."""

    def __init__(self, scene: Scene, armature: Object, meter: Object) -> None:
        self._scene, self._armature, self._meter = scene, armature, meter
        self._known: dict[tuple[str, bytes], Float64s] = {}

    def values(self, bone: str, turn: Floats) -> Float64s:
        """The value of every key when one bone is turned and all others rest.

        Args:
            turn: shape (3,), a rotation vector in the bone's rest axes, radians.
        """
        asked = (bone, np.round(turn, 9).tobytes())
        if asked not in self._known:
            self._turn(self._armature.pose.bones[bone], turn)
            view_layer = self._scene.view_layers[0]
            view_layer.update()
            depsgraph = cast("Depsgraph", view_layer.depsgraph)
            read: Any = self._meter.evaluated_get(depsgraph)
            self._known[asked] = np.array(read[_VALUES], np.float64)
            self._turn(self._armature.pose.bones[bone], np.zeros(3))
        return self._known[asked]

    def full_pose(self, bone: str, place: int) -> tuple[Float64s, float]:
        """The smallest turn of a bone at which a key is 1.

        Along the bone's axes first, both ways; then, from the best turn there, in any direction.

        Returns:
            the rotation vector, shape (3,), and the key's value there: below `FULL` where it never
            comes up to 1.
        """

        def value(turn: Floats) -> float:
            return float(self.values(bone, turn)[place])

        best, highest = np.zeros(3), -np.inf
        found: list[Float64s] = []
        for axis in (*_AXES, *-_AXES):
            for angle in np.arange(_STEP, np.pi + 1e-6, _STEP):
                now = value(angle * axis)
                if now > highest + 1e-6:
                    best, highest = angle * axis, now
                if now >= 1.0 - 1e-6:
                    found.append(self._first_full(value, axis, angle))
                    break
        if found:
            smallest = min(found, key=lambda turn: float(np.linalg.norm(turn)))
            return smallest, value(smallest)
        return _climb(value, best)

    def _first_full(self, value: Any, axis: Float64s, angle: float) -> NDArray[Any]:
        """The place between two steps where a key reaches 1."""
        low, high = angle - _STEP, angle
        while high - low > 1e-5:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if value(middle * axis) >= 1.0 - 1e-6 else (middle, high)
        return high * axis

    def _turn(self, bone: Any, turn: Floats) -> None:
        angle = float(np.linalg.norm(turn))
        axis = (turn / angle).tolist() if angle > 0.0 else [0.0, 1.0, 0.0]
        if bone.rotation_mode == "QUATERNION":
            bone.rotation_quaternion = Quaternion(axis, angle)
        elif bone.rotation_mode == "AXIS_ANGLE":
            bone.rotation_axis_angle = (angle, *axis)
        elif np.count_nonzero(turn) <= 1:
            # About one axis the channel itself: 120 degrees about Y would become three angles.
            bone.rotation_euler = turn.tolist()
        else:
            bone.rotation_euler = Quaternion(axis, angle).to_euler(bone.rotation_mode)


@contextmanager
def _driver_probe(obj: Object, keys: Mapping[str, str]) -> Generator[DriverProbe]:
    """Copies of the armature and of the drivers of some keys; gone afterwards.

    Args:
        keys: the names of keys, in whose order the values come, and the bone of each.
    """
    original = rig_of(obj)
    scene = bpy.data.scenes.new("DQ Compensation Drivers")
    armature = free_armature(original, keep_modes=True)
    bones = armature_of(armature)
    meter = bpy.data.objects.new("DQ Compensation Drivers", None)
    scene.collection.objects.link(armature)
    scene.collection.objects.link(meter)
    try:
        for path, count, curves in property_drivers(obj, set(keys.values())):
            meter[path] = [0.0] * count
            for curve in curves:
                place = (curve.data_path, curve.array_index)
                _copy(curve, meter, place, {original: armature, obj: meter})
        meter[_VALUES] = [0.0] * len(keys)
        for number, key in enumerate(keys):
            place = (f'["{_VALUES}"]', number)
            _copy(_driver_curve(obj, key), meter, place, {original: armature, obj: meter})
        yield DriverProbe(scene, armature, meter)
    finally:
        bpy.data.scenes.remove(scene)
        bpy.data.objects.remove(meter)
        bpy.data.objects.remove(armature)
        bpy.data.armatures.remove(bones)


def _copy(
    curve: Any, meter: Object, place: tuple[str, int], replaced: dict[Object, Object]
) -> None:
    """Copy a driver to the empty, where it reads the copied objects."""
    animation: Any = meter.animation_data_create()
    copied = animation.drivers.from_existing(src_driver=curve)
    copied.data_path, copied.array_index = place
    for variable in copied.driver.variables:
        for target in variable.targets:
            # How other kinds of targets are set up may not be changed, and need not be.
            if target.id in replaced:
                target.id = replaced[target.id]


def _climb(value: Any, start: Float64s) -> tuple[Float64s, float]:
    """The highest value about a turn, by steps along the axes that are halved at the top."""
    best, highest = start, value(start)
    step = _WIDEST
    while step > _NARROWEST and highest < 1.0 - 1e-6:
        tried = [best + sign * step * axis for axis in _AXES for sign in (1.0, -1.0)]
        values = [value(turn) for turn in tried]
        top = int(np.argmax(values))
        if values[top] > highest + 1e-9:
            best, highest = tried[top], values[top]
        else:
            step *= 0.5
    return best, highest


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
        _driver_curve(obj, name).mute = True
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
            bone = _read_driver(obj, name)
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
    with _driver_probe(obj, keys) as probe:
        for place, (key, bone) in enumerate(keys.items()):
            at_rest = float(probe.values(bone, np.zeros(3))[place])
            if abs(at_rest) > _AT_REST:
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
