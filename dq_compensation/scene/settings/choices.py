"""The choices of object settings: the identifier, label and tooltip of each."""

from __future__ import annotations

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
        "Measures, for each vertex, how far it is from its limb at rest, and takes back what is "
        "farther in a pose. Works with any weights: right for most characters",
    ),
    (
        "FITTED",
        "Fitted",
        "Measures nothing: the published formula of the two strongest weights of a vertex. For "
        "weights that are half and half at the joint",
    ),
    ("SMOOTH", "Smooth", "Like Fitted, without a crease where both bones have the same weight"),
    (
        "MODELLED",
        "Modelled",
        "Like Fitted, by another published formula, for weights that were smoothed over the joint",
    ),
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
    (
        "SUPPORT",
        "Support",
        "The part of the skin that the example poses of a bone may change: 0 nothing, 1 all of it",
    ),
)
