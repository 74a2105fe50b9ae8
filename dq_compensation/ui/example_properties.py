"""What an object remembers of example poses; `ui.properties` puts it into `Object.dq_compensation`.

The annotations here are Blender's property definitions, so they must not be postponed.
"""

import bpy
from bpy.props import BoolProperty, FloatProperty, FloatVectorProperty, StringProperty
from bpy.types import PropertyGroup

from ..lifecycle.enabling import settings_changed
from ..scene.object_settings import settings_of
from ..scene.status import tag_redraw


def _changed(owner: PropertyGroup, context: bpy.types.Context) -> None:
    obj = owner.id_data
    if isinstance(obj, bpy.types.Object):
        settings_changed(obj, context.evaluated_depsgraph_get())
    tag_redraw()


def _bone_changed(owner: PropertyGroup, context: bpy.types.Context) -> None:
    """Give the settings of the bone to the other one that was chosen, as after a renaming."""
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
            settings.example_bones.add().name = bone
    _changed(owner, context)


class DQCompensationExamplePose(PropertyGroup):
    """A shape that the artist wants in a pose of one bone."""

    name: StringProperty(name="Name", description="What the pose is called", update=_changed)
    bone: StringProperty(name="Bone", description="The bone whose pose it is", update=_bone_changed)
    key: StringProperty(
        name="Shape Key",
        description="The shape key that holds how the surface differs. It stays muted: the pose "
        "switches it on",
        update=_changed,
    )
    direction: FloatVectorProperty(
        size=3,
        default=(0.0, 1.0, 0.0),
        description="Where the bone's limb points, along the axes of the parent bone",
    )
    rotation: FloatVectorProperty(
        size=4,
        default=(1.0, 0.0, 0.0, 0.0),
        description="How the bone has turned against its parent, along the same axes; w, x, y, z",
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
        update=_changed,
        override={"LIBRARY_OVERRIDABLE"},
    )


class DQCompensationExampleBone(PropertyGroup):
    """What all example poses of one bone have in common; its name is the bone's."""

    sigma: FloatProperty(
        name="Reach",
        description="How far each example reaches towards other poses of the bone",
        default=1.0,
        min=0.1,
        max=6.283185,
        subtype="ANGLE",
        update=_changed,
    )
    twists: BoolProperty(
        name="Twist Counts",
        description="Tell poses apart by the full rotation of the bone, not only by the direction "
        "in which it points",
        update=_changed,
    )
    support: StringProperty(
        name="Support",
        description="The vertex group with the vertices that the examples of this bone may move; "
        "empty: those that follow the bone's parent and not the bone before that",
        update=_changed,
    )


CLASSES = (DQCompensationExamplePose, DQCompensationExampleBone)
