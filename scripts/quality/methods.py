"""The methods that the quality report compares, each as a function from a pose to positions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from dq_compensation.analysis.limbs import with_limbs
from dq_compensation.core.compensation import PUBLISHED_CURVES, PublishedCompensation
from dq_compensation.core.deform import Deformation, deform
from dq_compensation.core.influences import Influences
from dq_compensation.core.measured_joints import MeasuredJoints
from dq_compensation.core.pose import Pose
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.core.spherical_joints import joint_sets
from human.model import HumanArrays, build_from
from quality import delta_mush
from quality.body import Body
from quality.reference_bulging_free import BulgingFree
from quality.reference_rotation_centres import RotationCentres
from quality.softening import softened

Array = NDArray[np.float64]
Deformer = Callable[[Pose], Array]

# Blender's own modifier without and with Preserve Volume, and the methods that equal it.
BLENDERS = {False: "LINEAR", True: "DUAL_QUATERNION"}
# Blender's Corrective Smooth after Preserve Volume, as riggers add it: iterations, factor.
CORRECTIVE_SMOOTH = "CORRECTIVE_SMOOTH"
_ITERATIONS, _FACTOR = 20, 0.5
# COMPENSATED with *Ball Joints* and soft weights, by the most influences of a vertex.
SOFTENED = {"SOFTENED": 8, "SOFTENED_4": 4}


def deformers(body: Body) -> dict[str, Deformer]:
    """Every method but Blender's, ready for a body; with the weights as painted."""
    rest, influences, skeleton = body.rest, body.influences, body.skeleton
    skin = _skin(body, influences)
    measured = MeasuredJoints.of(skin)
    with_balls = MeasuredJoints.of(skin, ball_joints=True)
    found = {
        "LINEAR": Deformation("LINEAR", influences),
        "DUAL_QUATERNION": Deformation("DUAL_QUATERNION", influences),
        "MEASURED": Deformation("COMPENSATED", influences, measured),
        "BALL_JOINTS": Deformation("COMPENSATED", influences, with_balls),
        "SPHERICAL_JOINT": Deformation(
            "SPHERICAL_JOINT", influences, sets=joint_sets(influences, skeleton)
        ),
    }
    for curve in PUBLISHED_CURVES:
        published = PublishedCompensation.of(skin, curve=curve)
        found[curve] = Deformation("COMPENSATED", influences, published)
    ours = {name: _by_core(deformation, rest) for name, deformation in found.items()}
    others = {"KH14": BulgingFree(body).deform, "LH16": RotationCentres(body).deform}
    return {**ours, **others}


def installed_deformers(body: Body) -> dict[str, Deformer]:
    """Those of other programs that are installed; it takes up to minutes to prepare them."""
    return {"LL19": delta_mush.DeltaMush(body).deform} if delta_mush.is_installed() else {}


def soft_deformers(body: Body) -> dict[str, Deformer]:
    """COMPENSATED with *Ball Joints* and soft weights; it takes seconds to make them."""
    found = {}
    for name, most in SOFTENED.items():
        soft = softened(body, most)
        joints = MeasuredJoints.of(_skin(body, soft), ball_joints=True)
        found[name] = _by_core(Deformation("COMPENSATED", soft, joints), body.rest)
    return found


def _skin(body: Body, influences: Influences) -> SkinAtRest:
    """The skin with these influences, and the limbs that it shows, without leaves on them."""
    skin = SkinAtRest(body.rest, influences, body.skeleton, painted=body.influences)
    return with_limbs(skin, use_mesh_joints=False).with_whole_limbs


def _by_core(deformation: Deformation, rest: Array) -> Deformer:
    return lambda pose: deform(deformation, rest, None, pose)[0].astype(np.float64)


@dataclass(frozen=True, eq=False)
class BlenderBody:
    """A body as objects of an empty scene, which Blender's Armature modifier deforms."""

    body: Body
    mesh_object: bpy.types.Object
    armature_object: bpy.types.Object

    @classmethod
    def of(cls, body: Body) -> BlenderBody:
        """Build it in a scene of its own."""
        bpy.ops.wm.read_factory_settings(use_empty=True)
        mesh_object, armature_object = build_from(arrays_of(body))
        smooth = mesh_object.modifiers.new("Corrective Smooth", "CORRECTIVE_SMOOTH")
        smooth = cast("bpy.types.CorrectiveSmoothModifier", smooth)
        smooth.iterations, smooth.factor = _ITERATIONS, _FACTOR
        return cls(body, mesh_object, armature_object)

    def deform(self, pose: Pose, preserve_volume: bool, smooth: bool = False) -> Array:
        """Shape (n, 3), by the modifier, and by Corrective Smooth after it if wanted."""
        armature, corrective = self.mesh_object.modifiers
        armature = cast("bpy.types.ArmatureModifier", armature)
        armature.use_deform_preserve_volume = preserve_volume
        corrective.show_viewport = smooth
        self.take_pose(pose)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        mesh = cast("bpy.types.Mesh", self.mesh_object.evaluated_get(depsgraph).data)
        positions = np.zeros(3 * len(mesh.vertices), np.float32)
        mesh.attributes["position"].data.foreach_get("vector", positions)
        return positions.reshape(-1, 3).astype(np.float64)

    def take_pose(self, pose: Pose) -> None:
        """Move the bones of the armature."""
        skeleton = self.body.skeleton
        posed = pose.matrices @ skeleton.rest
        bones = cast("bpy.types.Pose", self.armature_object.pose).bones
        for bone, (name, parent) in enumerate(
            zip(skeleton.names, skeleton.parents.tolist(), strict=True)
        ):
            local, at_rest = posed[bone], skeleton.rest[bone]
            if parent >= 0:
                local = np.linalg.inv(posed[parent]) @ local
                at_rest = np.linalg.inv(skeleton.rest[parent]) @ at_rest
            bones[name].matrix_basis = Matrix((np.linalg.inv(at_rest) @ local).tolist())
        self.armature_object.update_tag()
        cast("bpy.types.ViewLayer", bpy.context.view_layer).update()


def arrays_of(body: Body) -> HumanArrays:
    """The body as `build_from` wants it."""
    skeleton, influences = body.skeleton, body.influences
    rest = skeleton.rest
    rolls = [bpy.types.Bone.AxisRollFromMatrix(Matrix(m[:3, :3].tolist()))[1] for m in rest]
    bones, weights = influences.in_blending_order()
    vertex, slot = np.nonzero(weights)
    return HumanArrays(
        vertices=body.rest.astype(np.float32),
        faces=body.faces,
        names=skeleton.names,
        parents=skeleton.parents.astype(np.int16),
        heads=skeleton.heads.astype(np.float32),
        tails=skeleton.tails.astype(np.float32),
        rolls=np.array(rolls, np.float32),
        weight_vertex=vertex.astype(np.int32),
        weight_bone=bones[vertex, slot].astype(np.int16),
        weight=weights[vertex, slot],
    )
