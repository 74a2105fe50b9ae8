"""The options of the bakes to shape keys: of a pose, of frames, of correctives."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import KW_ONLY
from string import Formatter
from typing import Literal

import bpy

from ..core.rest_offsets import Target
from ..errors import UserError
from ..scene.blender.mesh import mesh_of
from ..scene.blender.scenes import frames_of_range
from ..scene.settings.declaration import TOLERANCE, frozen_values, props
from .bake_source import BakeOnto

# Names of baked shape keys: patterns with the frame, or with the bone and the angle, in them.


# Blender cuts longer names off.
MAX_BYTES = 63

_REFUSAL_FRAME = (
    'The key names "{pattern}" cannot be used. Write {{frame}} where the number of the frame '
    "should be, or {{frame:04d}} for four digits, and braces nowhere else."
)
_REFUSAL_BONE = (
    'The key names "{pattern}" cannot be used. Write {{bone}} and {{angle}} where the bone\'s name '
    "and the angle should be, and braces nowhere else."
)
_REFUSAL_LONG = 'The name "{name}" is too long for a shape key. Shorten the key names.'


def frame_names(pattern: str, frames: tuple[int, ...]) -> list[str]:
    """The names of the keys of these frames.

    Raises:
        UserError: the pattern does not have the frame, has something else, or gives long names.
    """
    refusal = _REFUSAL_FRAME.format(pattern=pattern)
    names = [_filled(pattern, refusal, frame=frame) for frame in frames]
    if not all(map(_expression(pattern).fullmatch, names)):
        raise UserError(refusal)
    return [checked_name(name) for name in names]


def corrective_name(pattern: str, bone: str, label: str) -> str:
    """The name of the key of one pose.

    Args:
        pattern: with {bone} and {angle} in it.

    Raises:
        UserError: the pattern cannot be used, or gives too long a name.
    """
    refusal = _REFUSAL_BONE.format(pattern=pattern)
    return checked_name(_filled(pattern, refusal, bone=bone, angle=label))


def checked_name(name: str) -> str:
    """The name of a key, without blanks around it.

    Raises:
        UserError: it is empty or too long.
    """
    name = name.strip()
    if not name:
        raise UserError("Give the shape key a name.")
    if len(name.encode()) > MAX_BYTES:
        raise UserError(_REFUSAL_LONG.format(name=name))
    return name


def keys_of_pattern(obj: bpy.types.Object, pattern: str) -> list[str]:
    """The shape keys that an earlier bake with this pattern has made, of any frame.

    The pattern is one that `frame_names` takes.
    """
    key = mesh_of(obj).shape_keys
    if key is None:
        return []
    expression = _expression(pattern)
    reference = key.reference_key.name
    return [
        block.name
        for block in key.key_blocks
        if block.name != reference and expression.fullmatch(block.name)
    ]


def _filled(pattern: str, refusal: str, **values: object) -> str:
    """The pattern with the values in it, each once; only numbers can have a format of their own."""
    try:
        parts = [(field, spec) for _, field, spec, _ in Formatter().parse(pattern) if field]
        texts = [field for field, spec in parts if spec and isinstance(values.get(field), str)]
        if sorted(field for field, _ in parts) == sorted(values) and not texts:
            return pattern.format(**values)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise UserError(refusal) from error
    raise UserError(refusal)


def _expression(pattern: str) -> re.Pattern[str]:
    """A regular expression for all names of a pattern."""
    try:
        parts = [
            re.escape(literal) + (r"[+-]?\d+" if field is not None else "")
            for literal, field, _, _ in Formatter().parse(pattern)
        ]
    except ValueError as error:
        raise UserError(_REFUSAL_FRAME.format(pattern=pattern)) from error
    return re.compile("".join(parts))


# The options of the bakes to shape keys: of a pose, of frames, of correctives.


Directions = Literal["LIMBS", "ACTION", "EXAMPLES"]
"""How the bones turn.

LIMBS: across the plane in which the limb is bent at rest; the trunk, shoulders and hips in every
direction. ACTION, EXAMPLES: as they do in the poses of the armature's action, or in the example
poses.
"""


@frozen_values
class MemoryOptions:
    """Whether a bake may take much memory."""

    _: KW_ONLY
    much_memory: bool = props.BoolProperty(
        name="Allow over 1 GB of Memory",
        description="Bake even if it takes more than 1 GB. Otherwise the bake stops and says how "
        "much it needs",
        default=False,
        options={"SKIP_SAVE"},
    )


@frozen_values
class TargetOptions:
    """The object of a bake, and the modifier that deforms it then."""

    _: KW_ONLY
    target: Target = props.EnumProperty(
        name="Deformed By",
        description="What deforms the mesh in the program that uses the keys",
        items=(
            (
                "LINEAR",
                "Armature, Plain",
                "For game engines, glTF and FBX: the Armature modifier without Preserve Volume",
            ),
            (
                "DUAL_QUATERNION",
                "Armature, Preserve Volume",
                "For Blender: the Armature modifier with Preserve Volume. The keys are smaller",
            ),
        ),
        default="LINEAR",
    )
    onto: BakeOnto = props.EnumProperty(
        description="The object that gets the keys",
        items=(
            ("THIS", "This Object", "The character itself gets the keys"),
            (
                "COPY",
                "A Copy",
                "A copy gets the keys, with a mesh of its own and a plain Armature modifier. The "
                "character keeps its settings and is hidden in the viewport",
            ),
        ),
        default="THIS",
    )


@frozen_values
class PoseOptions(TargetOptions):
    """The options of a bake of the current pose."""

    name: str = props.StringProperty(
        description="The name of the shape key",
        default="Pose",
        property_name="key_name",
        maxlen=63,
    )
    _: KW_ONLY
    overwrite: bool = props.BoolProperty(
        description="Give a key of this name the new shape. Off: add another key",
        default=False,
    )


@frozen_values
class KeyOptions(TargetOptions, MemoryOptions):
    """The options of a bake to many keys; those of correctives, where bakes differ."""

    _: KW_ONLY
    tolerance: float = props.FloatProperty(
        description="Leave out keys that move no vertex by more than this, in millimetres",
        default=0.1,
        min=0.0,
        **TOLERANCE,
    )
    pattern: str = props.StringProperty(
        name="Key Names",
        description="The names of the shape keys. {bone} stands for the name of the bone, {angle} "
        "for the angle or the pose",
        default="{bone} {angle}",
        property_name="name_pattern",
        maxlen=63,
    )
    overwrite: bool = props.BoolProperty(
        name="Replace Earlier Bake",
        description="First remove the correctives of these bones from an earlier bake",
        default=True,
    )


@frozen_values
class RangeOptions(KeyOptions):
    """The options of a bake of a range of frames, from `first` to `last`, which is always baked."""

    first: int
    last: int
    _: KW_ONLY
    step: int = props.IntProperty(
        description="1 bakes every frame, 2 every second frame. The last frame always gets a key",
        default=1,
        min=1,
    )
    tolerance: float = props.FloatProperty(
        description="Leave out a frame if the keys around it give the same shape within this "
        "distance, in millimetres. 0 keeps all frames",
        default=0.0,
        min=0.0,
        **TOLERANCE,
    )
    pattern: str = props.StringProperty(
        name="Key Names",
        description="The names of the shape keys. {frame} stands for the frame number, {frame:04d} "
        "for the number with four digits",
        default="Frame {frame:04d}",
        property_name="name_pattern",
        maxlen=63,
    )
    overwrite: bool = props.BoolProperty(
        name="Replace Earlier Bake",
        description="First remove the shape keys that have such names, with their animation",
        default=True,
    )

    @property
    def frames(self) -> tuple[int, ...]:
        """The frames, rising.

        Raises:
            UserError: the range is empty.
        """
        return frames_of_range(self.first, self.last, self.step)


@frozen_values
class JointOptions:
    """The joints of a bake."""

    bones: Iterable[str] = props.StringProperty(
        description="The bones below the joints. None of them: all joints",
        default=(),
    )
    _: KW_ONLY
    mirror: bool = props.BoolProperty(
        name="Left and Right",
        description="Include the other side's bones, found by their names",
        default=True,
    )


@frozen_values
class CorrectiveOptions(KeyOptions, JointOptions):
    """The options of a bake of correctives.

    The angles, in degrees above 0, are not for the poses of an action or of examples; `bones` and
    `mirror` are not for those of examples.
    """

    _: KW_ONLY
    directions: Directions = props.EnumProperty(
        name="Bend",
        description="The axes that the bones bend about",
        items=(
            (
                "LIMBS",
                "As the Limb Bends",
                "Elbows, knees and fingers go on bending as they are bent at rest; straight ones "
                "bend about the bone's X axis. Shoulders, hips and the trunk bend in all "
                "directions, the trunk by a third of the largest angle",
            ),
            (
                "ACTION",
                "Poses of the Action",
                "Each keyed frame of the armature's action is a pose",
            ),
        ),
        default="LIMBS",
    )
    angles: Iterable[float] = props.FloatProperty(
        description="The angles of the bends, in degrees. Each becomes a shape key",
        default=(45.0, 90.0),
        unit="°",
    )
    twists: Iterable[float] = props.FloatProperty(
        name="Twist Angles",
        description="The angles of the twists, in degrees. Each becomes two shape keys, one for "
        "each direction. None: no twists",
        default=(60.0, 120.0),
        unit="°",
    )
    budget: int = props.IntProperty(
        description="The most shape keys of a character, where they are worth most. 0: no limit",
        default=200,
        min=0,
        soft_max=1000,
    )
    dry_run: bool = props.BoolProperty(
        description="Count the keys and report only: nothing is changed",
        default=False,
        options={"SKIP_SAVE"},
    )
