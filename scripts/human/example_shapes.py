"""Example poses for the human, made by a script: a raised shoulder and a flexing biceps.

What an artist would sculpt is stood in for by a bell: every vertex goes out along its normal by
h (1 - d^2)^2, where d is its distance from the bell's centre in parts of the bell's radii (one
along the upper arm, one across), and nothing moves where d > 1. The centres are on the skin.

- `SHOULDER`: the deltoid while the upper arm is level, 14 % of the way from shoulder to elbow on
  the upper side, radii 95 mm along and 65 mm across, 18 mm high.
- `BICEPS`: at 100 degrees of elbow (53 from the rest pose, which is bent by 47 already), 54 % of
  the way from shoulder to elbow on the side to which the forearm bends, radii 85 mm along and
  55 mm across, 24 mm high.

The rig has two bones for each upper arm, so the support that the weights say would hold a part of
these muscles only: each example has a painted one, 1 where the bones of the muscle have more than
half of the weight, falling smoothly to 0 where they have none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.examples.authoring import add_example, bone_settings, give_shape
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.binding import Binding
from dq_compensation.scene.settings.object_settings import ExampleBase, settings_of
from human.poses import Rotations, apply_pose, rotation

UPPER_ARM, FOREARM = "upperarm01.L", "lowerarm01.L"


@dataclass(frozen=True)
class Bell:
    """A muscle: which example pose it belongs to, and how it swells there.

    Attributes:
        name: of the example pose.
        bone: whose example it is.
        moment: of `arm_pose`, the pose in which it is whole.
        support_bones: the bones whose skin may move.
        place: of the centre on the way from the shoulder's joint to the elbow's, 0 to 1.
        bends_to: whether the centre is on the side to which the forearm bends; else it is above.
        along, across: radii in metres.
        height: in metres.
    """

    name: str
    bone: str
    moment: tuple[float, float]
    support_bones: tuple[str, ...]
    place: float
    bends_to: bool
    along: float
    across: float
    height: float


SHOULDER = Bell(
    "Shoulder raised",
    UPPER_ARM,
    (1.0, 0.0),
    ("clavicle.L", "shoulder01.L", "upperarm01.L", "upperarm02.L"),
    0.14,
    False,
    0.095,
    0.065,
    0.018,
)
BICEPS = Bell(
    "Biceps flexed",
    FOREARM,
    (1.0, 1.0),
    ("upperarm01.L", "upperarm02.L"),
    0.54,
    True,
    0.085,
    0.055,
    0.024,
)
BELLS = (SHOULDER, BICEPS)


def arm_pose(raised: float, flexed: float) -> Rotations:
    """The left arm between hanging (0) and level (1), the elbow between rest (0) and bent (1).

    The upper arm turns outwards about itself meanwhile, so that the forearm points upwards.
    """
    return {
        "clavicle.L": rotation(z=6.0 * raised),
        "shoulder01.L": rotation(z=9.0 * raised),
        "upperarm01.L": rotation(y=-45.0 * raised, z=45.0 * raised),
        "upperarm02.L": rotation(y=-45.0 * raised),
        "lowerarm01.L": rotation(x=53.0 * flexed),
    }


def make_examples(
    mesh_object: bpy.types.Object,
    armature_object: bpy.types.Object,
    base: ExampleBase = "SPHERICAL_JOINT",
) -> dict[str, NDArray[np.float64]]:
    """Give the human both examples; it is at rest afterwards.

    Args:
        mesh_object: the human with its rig `default`.
        armature_object: its armature.
        base: what the examples correct.

    Returns:
        by the examples' names: shape (n,), how far each vertex was pushed out, in metres.
    """
    settings = settings_of(mesh_object)
    settings.method, settings.example_base = "SPHERICAL_JOINT_BY_EXAMPLE", base
    pushes: dict[str, NDArray[np.float64]] = {}
    for bell in BELLS:
        apply_pose(armature_object, arm_pose(*bell.moment))
        bpy.context.view_layer.update()
        binding = bind(mesh_object)
        plain = api.evaluate(mesh_object).astype(np.float64)
        push = bell_heights(bell, plain, armature_object)
        group = f"Support {bell.bone}"
        paint_support(mesh_object, binding, group, bell.support_bones)
        bone_settings(mesh_object, bell.bone).support = group
        index, moment = add_example(
            mesh_object, bell.bone, bpy.context.evaluated_depsgraph_get(), bell.name
        )
        wanted = plain + push[:, None] * smooth_normals(mesh_object, plain)
        give_shape(mesh_object, index, moment, wanted)
        pushes[bell.name] = push
    apply_pose(armature_object, {})
    bpy.context.view_layer.update()
    return pushes


def bell_heights(
    bell: Bell, posed: NDArray[np.floating], armature_object: bpy.types.Object
) -> NDArray[np.float64]:
    """How far each vertex goes out; shape (n,), metres.

    Args:
        bell: which muscle.
        posed: shape (n, 3), the surface in its pose; the human's space is its armature's.
        armature_object: posed.
    """
    bones = armature_object.pose.bones
    shoulder, elbow, hand = (
        np.array(point, np.float64)
        for point in (bones[UPPER_ARM].head, bones[FOREARM].head, bones["wrist.L"].head)
    )
    length = float(np.linalg.norm(elbow - shoulder))
    limb = (elbow - shoulder) / length
    side = hand - elbow if bell.bends_to else np.array([0.0, 0.0, 1.0])
    side -= (side @ limb) * limb
    side /= np.linalg.norm(side)
    middle = shoulder + bell.place * length * limb
    from_middle = posed - middle
    off_axis = from_middle - (from_middle @ side)[:, None] * side
    # The skin that is straight out from the bone: the highest of what is within a centimetre.
    near = np.linalg.norm(off_axis, axis=1) < 0.012
    near &= np.linalg.norm(from_middle, axis=1) < 0.12
    centre = middle + float((from_middle[near] @ side).max()) * side
    apart = posed - centre
    along = apart @ limb
    across = np.linalg.norm(apart - along[:, None] * limb, axis=1)
    inside = 1.0 - (along / bell.along) ** 2 - (across / bell.across) ** 2
    return bell.height * np.maximum(inside, 0.0) ** 2


def paint_support(
    obj: bpy.types.Object, binding: Binding, name: str, bones: tuple[str, ...]
) -> None:
    """Add a vertex group: 1 where these bones have half of the weight or more, smoothly to 0."""
    weights = np.zeros(binding.vertex_count)
    rows = [binding.skeleton.names.index(bone) for bone in bones]
    for vertices, of_slot, shares in binding.influences.slots():
        weights[vertices] += np.where(np.isin(of_slot, rows), shares, 0.0)
    part = np.clip(weights / 0.5, 0.0, 1.0)
    smooth = np.round(part * part * (3.0 - 2.0 * part), 2)
    group = obj.vertex_groups.new(name=name)
    for value in np.unique(smooth[smooth > 0.0]):
        group.add(np.flatnonzero(smooth == value).tolist(), float(value), "REPLACE")


def smooth_normals(obj: bpy.types.Object, positions: NDArray[np.floating]) -> NDArray[np.float32]:
    """The vertex normals of the object's faces at other positions; shape (n, 3)."""
    mesh = obj.data.copy()
    if mesh.shape_keys is not None:
        shape = bpy.data.objects.new("Normals", mesh)
        shape.shape_key_clear()
        bpy.data.objects.remove(shape)
    mesh.attributes["position"].data.foreach_set("vector", positions.astype(np.float32).ravel())
    mesh.update()
    normals = np.empty((len(positions), 3), np.float32)
    mesh.vertex_normals.foreach_get("vector", normals.ravel())
    bpy.data.meshes.remove(mesh)
    return normals


FRAMES = (1, 13, 25, 37, 49)


def animate_arm(armature_object: bpy.types.Object) -> Iterator[int]:
    """Key the arm up and the elbow closed after that; yields the frames to look at, shown."""
    scene = bpy.context.scene
    keyed = {FRAMES[0]: (0.0, 0.0), FRAMES[2]: (1.0, 0.0), FRAMES[4]: (1.0, 1.0)}
    for frame, moment in keyed.items():
        rotations = arm_pose(*moment)
        apply_pose(armature_object, rotations)
        for name in rotations:
            armature_object.pose.bones[name].keyframe_insert("rotation_quaternion", frame=frame)
    for frame in FRAMES:
        scene.frame_set(frame)
        yield frame
