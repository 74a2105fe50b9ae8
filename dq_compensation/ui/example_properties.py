"""The properties of example poses; `ui.properties` puts them into `Object.dq_compensation`.

The annotations here are Blender's property definitions, so they must not be postponed.
"""

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, FloatVectorProperty, StringProperty
from bpy.types import PropertyGroup

from ..examples.items import bone_settings
from ..lifecycle.enabling import settings_changed
from ..scene.object_settings import settings_of
from ..session.status import tag_redraw


def changed(owner: PropertyGroup, _context: bpy.types.Context) -> None:
    """Let the object follow a changed property."""
    obj = owner.id_data
    if isinstance(obj, bpy.types.Object):
        settings_changed(obj)
    tag_redraw()


def _bone_changed(owner: PropertyGroup, context: bpy.types.Context) -> None:
    """Give the bone's settings to the newly chosen bone, for instance after a renaming."""
    obj = owner.id_data
    if isinstance(obj, bpy.types.Object):
        settings = settings_of(obj)
        used = {item.bone for item in settings.examples}
        known = {each.name for each in settings.example_bones}
        bone = str(getattr(owner, "bone", ""))
        left = next((each for each in settings.example_bones if each.name not in used), None)
        if bone not in known and left is not None:
            left.name = bone
        elif bone not in known:
            bone_settings(obj, bone)
    changed(owner, context)


SUPPORT_KINDS = (
    (
        "JOINT",
        "Both Sides of Joint",
        "Vertices that follow the bone or its parent, with a smooth border",
    ),
    (
        "PARENT",
        "Parent Only",
        "Vertices that follow the bone's parent but not the bone above the parent (Houska 2005)",
    ),
)


class DQCompensationExamplePose(PropertyGroup):
    """A shape that the artist wants in a pose of one bone."""

    name: StringProperty(name="Name", description="The name of the example pose", update=changed)
    bone: StringProperty(name="Bone", description="The bone of the pose", update=_bone_changed)
    key: StringProperty(
        name="Shape Key",
        description="The shape key with the example's shape. It stays muted: the method By "
        "Example adds it in the pose",
        update=changed,
    )
    direction: FloatVectorProperty(
        size=3,
        default=(0.0, 1.0, 0.0),
        description="The direction of the bone's limb, along the axes of the parent bone",
    )
    rotation: FloatVectorProperty(
        size=4,
        default=(1.0, 0.0, 0.0, 0.0),
        description="The bone's rotation relative to its parent, along the same axes: w, x, y, z",
    )
    factor: FloatProperty(
        name="Factor",
        description="How much of this example acts",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        # Written into the modifier's tables when it changes; it could not follow an animation.
        options=set(),
        update=changed,
        override={"LIBRARY_OVERRIDABLE"},
    )


class DQCompensationExampleBone(PropertyGroup):
    """The settings of all example poses of one bone; its name is the bone's."""

    sigma: FloatProperty(
        name="Falloff Angle",
        description="The angle over which the examples of this bone blend with each other and with "
        "the rest pose",
        default=1.0,
        min=0.1,
        max=6.283185,
        subtype="ANGLE",
        update=changed,
    )
    twists: BoolProperty(
        name="Use Twist",
        description="Compare poses by the full rotation of the bone. Off: compare only the "
        "direction of the bone",
        update=changed,
    )
    support: StringProperty(
        name="Support",
        description="The vertex group with the vertices that the examples of this bone may move. "
        "Empty: the weights of the bones give the vertices",
        update=changed,
    )
    support_kind: EnumProperty(
        name="Found By",
        description="How to find the vertices that the examples of this bone may move",
        items=SUPPORT_KINDS,
        # Files from before there was a choice keep the support that they had.
        default="PARENT",
        update=lambda _owner, _context: tag_redraw(),
    )


CLASSES = (DQCompensationExamplePose, DQCompensationExampleBone)
