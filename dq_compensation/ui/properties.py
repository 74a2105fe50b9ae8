"""What an object remembers: `Object.dq_compensation`.

The annotations here are Blender's property definitions, so they must not be postponed.
"""

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, PointerProperty, StringProperty
from bpy.types import PropertyGroup

from ..lifecycle.enabling import settings_changed
from ..registration import apply_in_order, undo_in_reverse
from ..scene.status import tag_redraw

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
    native: PointerProperty(type=DQCompensationNativeState)


CLASSES = (DQCompensationNativeState, DQCompensationSettings)


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
