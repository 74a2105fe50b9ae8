"""The settings of an object: `Object.dq_compensation`.

The annotations here are Blender's property definitions, so they must not be postponed.
"""

from typing import Any

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)
from bpy.types import PropertyGroup

from .crowd_properties import CLASSES as CROWD_CLASSES
from .crowd_properties import DQCompensationCrowd
from .example_properties import CLASSES as EXAMPLE_CLASSES
from .example_properties import DQCompensationExampleBone, DQCompensationExamplePose, changed
from .take_properties import CLASSES as TAKE_CLASSES
from .take_properties import DQCompensationPlayback, DQCompensationTake

METHODS = (
    (
        "COMPENSATED",
        "Compensated",
        "Joints keep their volume when they twist and do not bulge when they bend. Right for most "
        "characters",
    ),
    (
        "DUAL_QUATERNION",
        "Dual Quaternion",
        "The same as Preserve Volume of the Armature modifier: joints keep their volume when they "
        "twist, but bulge when they bend",
    ),
    (
        "SPHERICAL_JOINT",
        "Spherical Joint",
        "Turns each vertex about the joint that its bones share. Joints bulge much as with Dual "
        "Quaternion. The base of By Example",
    ),
    (
        "SPHERICAL_JOINT_BY_EXAMPLE",
        "By Example",
        "Blends between shapes that you have sculpted for some poses, such as a raised shoulder or "
        "a flexed biceps",
    ),
    (
        "LINEAR",
        "Linear",
        "The same as the Armature modifier without Preserve Volume: bent elbows become thin, and "
        "twisted wrists collapse",
    ),
)

DISPLAYS = (
    (
        "MODIFIER",
        "Modifier",
        "A modifier deforms the mesh. Every shading mode, materials, the modifiers after it, "
        "painting and renders show the result",
    ),
    (
        "GPU",
        "GPU",
        "The graphics card draws the character in Solid and Wireframe. For heavy meshes and many "
        "characters. Renders and saved files show the modifier's result",
    ),
)

CURVES = (
    (
        "MEASURED",
        "Measured",
        "Keeps the skin at the distance from the limbs that it has at rest. Right for most "
        "characters",
    ),
    ("FITTED", "Fitted", "The published curve. For weights that are half and half at the joint"),
    ("SMOOTH", "Smooth", "Like Fitted, without a crease where both bones have the same weight"),
    ("MODELLED", "Modelled", "Like Fitted, for weights that were smoothed over the joint"),
    ("SLIDES", "Strong", "Like Fitted, but acts farther from the joint. For wide, soft weights"),
)

EXAMPLE_BASES = (
    ("SPHERICAL_JOINT", "Spherical Joint", "The published method"),
    ("COMPENSATED", "Compensated", "Compensated dual quaternions, with their settings"),
)

LIMB_AXES = (
    (
        "AUTO",
        "Automatic",
        "From each bone's head to its child's head, or along the bone where it has no child",
    ),
    ("X", "X", "The limb runs along the bones' X axis"),
    ("Y", "Y", "The limb runs along the bones' Y axis, as in bones made in Blender"),
    ("Z", "Z", "The limb runs along the bones' Z axis"),
    ("-X", "-X", "The limb runs against the bones' X axis"),
    ("-Y", "-Y", "The limb runs against the bones' Y axis"),
    ("-Z", "-Z", "The limb runs against the bones' Z axis"),
)

OVERLAYS = (
    ("NONE", "None", "The character as it is"),
    ("COMPENSATION", "Compensation", "How far the compensation moves each vertex"),
    ("LINEAR", "From Linear", "How far each vertex is from the plain Armature modifier's result"),
    (
        "DUAL_QUATERNION",
        "From Dual Quaternion",
        "How far each vertex is from the result of the Armature modifier with Preserve Volume",
    ),
    ("SUPPORT", "Support", "How far the example poses of a bone may move each vertex"),
)


# Of what acts on the object: it follows at once, and library overrides can change it.
_ACTING: dict[str, Any] = {"update": changed, "override": {"LIBRARY_OVERRIDABLE"}}


class DQCompensationNativeState(PropertyGroup):
    """Blender's own settings of an object before it was enabled.

    They live in the file, so that undo, duplicates and saved files carry them along.
    """

    replaced_modifier: StringProperty(description="The Armature modifier that ours works with")
    replaced_uid: IntProperty(description="Its number in the stack, which renaming does not change")
    replaced_show_viewport: BoolProperty(description="Whether it was shown in the viewport")
    replaced_show_render: BoolProperty(description="Whether it was shown in renders")
    replaced_preserve_volume: BoolProperty(description="Whether it had Preserve Volume")
    base_left_on: BoolProperty(
        description="Whether it stays on, with Preserve Volume as the method needs it; else it is "
        "hidden"
    )
    base_let_go: BoolProperty(
        description="Whether it has got Preserve Volume back, because our modifier is missing"
    )
    parted: BoolProperty(
        description="Whether our modifier was removed for an undo, and has to come back"
    )
    passing: BoolProperty(
        description="Whether the Armature modifier is shown because our modifier gets other "
        "vertices"
    )
    passing_in_renders: BoolProperty(
        description="Whether it is shown in renders instead of ours, which get other vertices there"
    )
    had_animation: BoolProperty(description="Whether the object had animation data")
    hidden: BoolProperty(description="Whether Blender's own surface is hidden now")
    display_type: StringProperty(description="Display As, as the user has set it")
    hidden_modifier: StringProperty(description="The modifier that was hidden with it, if one was")
    hidden_base: BoolProperty(description="Whether the Armature modifier was hidden, too")
    hidden_from_camera: BoolProperty(description="Whether Ray Visibility of the camera was cleared")
    hidden_for_copy: BoolProperty(description="Whether a posed copy stands in for the object")


class DQCompensationSettings(PropertyGroup):
    """The deformation of one mesh object."""

    is_enabled: BoolProperty(options={"HIDDEN"}, override={"LIBRARY_OVERRIDABLE"})
    enabled: BoolProperty(
        name="Enabled",
        description="Whether DQ Compensation deforms this object. Use Enable and Disable to change",
        get=lambda self: self.is_enabled,  # type: ignore[attr-defined]
    )
    display: EnumProperty(
        name="Display",
        description="How the deformed character is shown",
        items=DISPLAYS,
        default="MODIFIER",
        **_ACTING,
    )
    method: EnumProperty(
        name="Method",
        description="How the bones move the surface",
        items=METHODS,
        default="COMPENSATED",
        **_ACTING,
    )
    factor: FloatProperty(
        name="Factor",
        description="How much of the compensation acts: 0 gives the method Dual Quaternion, 1 all "
        "of it",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        **_ACTING,
    )
    curve: EnumProperty(
        name="Curve",
        description="The formula of the compensation",
        items=CURVES,
        default="MEASURED",
        **_ACTING,
    )
    vertex_group: StringProperty(
        name="Vertex Group",
        description="How much of the compensation each vertex gets. Empty: all of it",
        **_ACTING,
    )
    blend_group: StringProperty(
        name="Blend Group",
        description="How much of the chosen method each vertex gets: 0 is the plain Armature "
        "modifier, 1 the method. Empty: all of it",
        **_ACTING,
    )
    limb_axis: EnumProperty(
        name="Limb Axis",
        description="The axis of the bones that points along the limb. If a joint of an imported "
        "rig bulges more instead of less, try the axes in turn",
        items=LIMB_AXES,
        default="AUTO",
        **_ACTING,
    )
    use_mesh_joints: BoolProperty(
        name="Mesh Joints",
        description="Also compensate between two bones that share skin although neither is above "
        "the other in the hierarchy, as in flat skeletons and control rigs",
        default=True,
        **_ACTING,
    )
    use_ball_joints: BoolProperty(
        name="Ball Joints",
        description="Take the bulge away at shoulders, hips and feet, too, where limbs swing to "
        "all sides. Posed frames take a fifth to a third longer in the modifier display",
        default=False,
        **_ACTING,
    )
    examples: CollectionProperty(type=DQCompensationExamplePose, override={"LIBRARY_OVERRIDABLE"})
    example_bones: CollectionProperty(type=DQCompensationExampleBone)
    active_example: IntProperty(
        name="Active Example",
        description="The example pose that is chosen in the list",
        options={"SKIP_SAVE"},
    )
    example_bone: StringProperty(
        name="Bone", description="The bone that gets the next example pose. Empty: the active bone"
    )
    support_bone: StringProperty(
        name="Support Of",
        description="The bone whose support the overlay shows",
        **_ACTING,
    )
    example_base: EnumProperty(
        name="Base",
        description="The method that the examples correct",
        items=EXAMPLE_BASES,
        default="SPHERICAL_JOINT",
        **_ACTING,
    )
    overlay: EnumProperty(
        name="Overlay",
        description="The distance that the colours show, in Object Mode and Pose Mode",
        items=OVERLAYS,
        default="NONE",
        **_ACTING,
    )
    overlay_maximum: FloatProperty(
        name="Maximum",
        description="The distance at the upper end of the colours, in millimetres. 0: the largest "
        "distance of the character",
        default=0.0,
        min=0.0,
        soft_max=100.0,
        precision=1,
        **_ACTING,
    )
    native: PointerProperty(type=DQCompensationNativeState)
    # Of an armature object.
    takes: CollectionProperty(
        type=DQCompensationTake, override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"}
    )
    active_take: IntProperty(
        name="Active Take",
        description="The take that is chosen in the list",
        override={"LIBRARY_OVERRIDABLE"},
    )
    playback: PointerProperty(type=DQCompensationPlayback, override={"LIBRARY_OVERRIDABLE"})
    # Of an Empty.
    crowd: PointerProperty(type=DQCompensationCrowd, override={"LIBRARY_OVERRIDABLE"})


CLASSES = (
    *EXAMPLE_CLASSES,
    *TAKE_CLASSES,
    *CROWD_CLASSES,
    DQCompensationNativeState,
    DQCompensationSettings,
)


def register() -> None:
    """Give every object its settings."""
    bpy.types.Object.dq_compensation = PointerProperty(  # type: ignore[attr-defined]
        name="DQ Compensation", type=DQCompensationSettings, override={"LIBRARY_OVERRIDABLE"}
    )


def unregister() -> None:
    """Take the settings away."""
    del bpy.types.Object.dq_compensation  # type: ignore[attr-defined]
