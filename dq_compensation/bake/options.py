"""The options of the bakes to shape keys: of a pose, of frames, and what all have."""

from __future__ import annotations

from dataclasses import KW_ONLY

from ..core.rest_offsets import Target
from ..scene.blender.scenes import frames_of_range
from ..scene.settings.declaration import TOLERANCE, frozen_values, props
from ..steps import TakesLong
from .bake_targets import BakeOnto


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
        name="For",
        description="What plays the keys",
        items=(
            (
                "LINEAR",
                "Game Engines, glTF",
                "What deforms as the Armature modifier without Preserve Volume does",
            ),
            (
                "DUAL_QUATERNION",
                "Blender File",
                "The Armature modifier with Preserve Volume. The keys are smaller",
            ),
        ),
        default="LINEAR",
    )
    onto: BakeOnto = props.EnumProperty(
        name="Write To",
        description="The object that gets the keys",
        items=(
            ("THIS", "The Character", "The character itself gets the keys"),
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
class KeyOptions(TargetOptions, MemoryOptions, TakesLong):
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
