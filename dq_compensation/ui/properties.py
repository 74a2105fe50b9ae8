"""What an object remembers: `Object.dq_compensation`.

The annotations here are Blender's property definitions, so they must not be postponed.
"""

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

from ..lifecycle.enabling import settings_changed
from ..registration import apply_in_order, undo_in_reverse
from ..scene.status import tag_redraw
from .example_properties import CLASSES as EXAMPLE_CLASSES
from .example_properties import DQCompensationExampleBone, DQCompensationExamplePose

METHODS = (
    (
        "COMPENSATED",
        "Compensated Dual Quaternion",
        "Keeps the volume in a twist like Preserve Volume, and takes the bulge out of bent joints",
    ),
    (
        "DUAL_QUATERNION",
        "Dual Quaternion",
        "The same as the Armature modifier's Preserve Volume: no collapse, but joints bulge",
    ),
    (
        "SPHERICAL_JOINT",
        "Spherical Joint",
        "Blends rotations about the joint that a vertex's bones share",
    ),
    (
        "SPHERICAL_JOINT_BY_EXAMPLE",
        "By Example",
        "Shows the shapes that you have given to example poses, and goes smoothly from one to the "
        "other: a raised shoulder, a flexed biceps",
    ),
    (
        "LINEAR",
        "Linear",
        "The same as the plain Armature modifier: elbows collapse, wrists wring like a wet cloth",
    ),
)

DISPLAYS = (
    (
        "MODIFIER",
        "Modifier",
        "As real geometry, by a modifier: every shading mode, materials, the modifiers after it, "
        "painting and renders show it",
    ),
    (
        "GPU",
        "GPU",
        "Drawn by the graphics card in Solid and Wireframe: for heavy meshes and many characters. "
        "Renders and saved files show the modifier's result",
    ),
)

CURVES = (
    (
        "MEASURED",
        "Measured",
        "Keeps the skin as far from the limbs as it is at rest, wherever the weights cross over: "
        "right for most characters",
    ),
    ("FITTED", "Fitted", "The published curve, for weights that are half and half at the joint"),
    ("SMOOTH", "Smooth", "Like Fitted, without a crease where both bones weigh the same"),
    ("MODELLED", "Modelled", "Derived from weights that are a step smoothed over the joint"),
    ("SLIDES", "Strong", "Reaches further from the joint: for wide, soft weights"),
)

EXAMPLE_BASES = (
    ("SPHERICAL_JOINT", "Spherical Joint", "The published method"),
    ("COMPENSATED", "Compensated", "Compensated dual quaternions, with their settings"),
)

LIMB_AXES = (
    (
        "AUTO",
        "Automatic",
        "From each bone's head to its child's head; along the bone where it has no child",
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
    (
        "SUPPORT",
        "Support",
        "How far the example poses of a bone may move each vertex",
    ),
)


def _changed(settings: PropertyGroup, context: bpy.types.Context) -> None:
    owner = settings.id_data
    if isinstance(owner, bpy.types.Object):
        settings_changed(owner, context.evaluated_depsgraph_get())
    tag_redraw()


class DQCompensationNativeState(PropertyGroup):
    """Blender's own settings of an object that enabling has changed, as they were.

    They live in the file, so that undo, duplicates and saved files carry them along.
    """

    replaced_modifier: StringProperty(description="The Armature modifier that ours stands in for")
    replaced_show_viewport: BoolProperty(description="Whether it was shown in the viewport")
    replaced_show_render: BoolProperty(description="Whether it was shown in renders")
    had_animation: BoolProperty(description="Whether the object had animation data")
    hidden: BoolProperty(description="Whether Blender's own surface is hidden at the moment")
    display_type: StringProperty(description="Display As, as the user has set it")
    hidden_modifier: StringProperty(description="The modifier that was hidden with it, if one was")
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
        update=_changed,
        override={"LIBRARY_OVERRIDABLE"},
    )
    method: EnumProperty(
        name="Method",
        description="How the bones move the surface",
        items=METHODS,
        default="COMPENSATED",
        update=_changed,
        override={"LIBRARY_OVERRIDABLE"},
    )
    factor: FloatProperty(
        name="Factor",
        description="How much of the compensation acts: 0 is plain dual quaternions, 1 all of it",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        update=_changed,
        override={"LIBRARY_OVERRIDABLE"},
    )
    curve: EnumProperty(
        name="Curve",
        description="How the compensation is spread over the joint",
        items=CURVES,
        default="MEASURED",
        update=_changed,
        override={"LIBRARY_OVERRIDABLE"},
    )
    vertex_group: StringProperty(
        name="Vertex Group",
        description="Weights that scale the compensation per vertex; empty means everywhere 1",
        update=_changed,
        override={"LIBRARY_OVERRIDABLE"},
    )
    blend_group: StringProperty(
        name="Blend Group",
        description="Weights that blend from the plain Armature modifier's linear skinning, 0, to "
        "the chosen method, 1, per vertex; empty means everywhere 1",
        update=_changed,
        override={"LIBRARY_OVERRIDABLE"},
    )
    limb_axis: EnumProperty(
        name="Limb Axis",
        description="Which way the limbs run from the joints. Try the axes in turn if the joints "
        "of an imported rig bulge more instead of less",
        items=LIMB_AXES,
        default="AUTO",
        update=_changed,
        override={"LIBRARY_OVERRIDABLE"},
    )
    examples: CollectionProperty(type=DQCompensationExamplePose, override={"LIBRARY_OVERRIDABLE"})
    example_bones: CollectionProperty(type=DQCompensationExampleBone)
    active_example: IntProperty(name="Active Example", options={"SKIP_SAVE"})
    example_bone: StringProperty(
        name="Bone",
        description="The bone that gets the next example pose; empty: the active bone",
    )
    support_bone: StringProperty(
        name="Support Of",
        description="The bone whose support the overlay shows",
        update=_changed,
        override={"LIBRARY_OVERRIDABLE"},
    )
    example_base: EnumProperty(
        name="Base",
        description="What the example poses correct",
        items=EXAMPLE_BASES,
        default="SPHERICAL_JOINT",
        update=_changed,
        override={"LIBRARY_OVERRIDABLE"},
    )
    overlay: EnumProperty(
        name="Overlay",
        description="What the character is coloured by in Object Mode and Pose Mode",
        items=OVERLAYS,
        default="NONE",
        update=_changed,
        override={"LIBRARY_OVERRIDABLE"},
    )
    overlay_maximum: FloatProperty(
        name="Maximum",
        description="The distance at the upper end of the colours, in millimetres; 0 follows the "
        "largest one that there is",
        default=0.0,
        min=0.0,
        soft_max=100.0,
        precision=1,
        update=_changed,
        override={"LIBRARY_OVERRIDABLE"},
    )
    native: PointerProperty(type=DQCompensationNativeState)


CLASSES = (*EXAMPLE_CLASSES, DQCompensationNativeState, DQCompensationSettings)


def register() -> None:
    """Register the classes."""
    apply_in_order(CLASSES, bpy.utils.register_class, bpy.utils.unregister_class)
    bpy.types.Object.dq_compensation = PointerProperty(  # type: ignore[attr-defined]
        name="DQ Compensation", type=DQCompensationSettings, override={"LIBRARY_OVERRIDABLE"}
    )


def unregister() -> None:
    """Unregister the classes."""
    del bpy.types.Object.dq_compensation  # type: ignore[attr-defined]
    undo_in_reverse(CLASSES, bpy.utils.unregister_class)
