"""The passes of the GPU display for some characters, as the package runs them, against `core`.

`blender_gpu.install` comes before this is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.examples import bent
from card.blender_gpu import Dispatch, recorded
from dq_compensation.core.compensation import PublishedCompensation
from dq_compensation.core.deform import Deformation, deform
from dq_compensation.core.example_poses import ExamplePoses
from dq_compensation.core.example_support import support
from dq_compensation.core.influences import Influences
from dq_compensation.core.measured_joints import MeasuredJoints
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.core.spherical_joints import JointSets, joint_sets
from dq_compensation.core.topology import Topology
from dq_compensation.core.twist_limbs import TwistLimbs
from dq_compensation.pipeline.takes.played_takes import Instances, Playback, Playing
from dq_compensation.scene.binding.kept_examples import Examples
from dq_compensation.viewport import shaders
from dq_compensation.viewport.array_textures import TEXTURE_WIDTH, array_from_texture
from dq_compensation.viewport.deformed_mesh import DeformedMesh, GpuMesh
from dq_compensation.viewport.instance_poses import GivenPoses, InstanceList, InstancePoses
from dq_compensation.viewport.kernels import PosePaletteLayout, swings_of, wanted_layout
from dq_compensation.viewport.overlay import ColouredObject
from tests.played_poses import pose_at

# Of the extent of a character: float32, weights of 16 bits. Normals are unit, of 16 bits, and small
# faces have edges of few digits.
TOLERANCE, NORMALS_TOLERANCE = 1e-4, 4e-3
FRAME = 14.6
GIVEN_KEYS = 8
# By the image that each writes, in the order in which they run.
PASSES = {
    "locals": "interpolate keys",
    "palettes": "chain bones",
    "limbs": "pose limbs",
    "joints": "pose joints",
    "centres": "joint centres",
    "key_values": "values of keys by example",
    "shaped": f"{GIVEN_KEYS} shape keys",
    "normals": "normals",
    "distances": "overlay distances",
}
_ALONE = "COMPENSATED"


@dataclass(frozen=True, eq=False)
class Character:
    """A mesh with its skeleton, both in armature space."""

    rest: NDArray[np.floating]
    influences: Influences
    skeleton: Skeleton
    topology: Topology

    @cached_property
    def sets(self) -> JointSets:
        """The sets of bones that share vertices."""
        return joint_sets(self.influences, self.skeleton)

    @property
    def extent(self) -> float:
        """What errors are measured by."""
        return float(np.ptp(self.rest, axis=0).max())

    def deformations(self) -> dict[str, Deformation]:
        """Each method, and what acts beside it."""
        of = (self.rest, self.influences, self.skeleton)
        measured, balls = (
            MeasuredJoints.of(SkinAtRest(*of), ball_joints=each) for each in (False, True)
        )
        blend = np.random.default_rng(2).random(len(self.rest)).astype(np.float32)
        ours = Deformation(_ALONE, self.influences, measured, sets=self.sets)
        found = {
            "LINEAR": replace(ours, method="LINEAR"),
            "DUAL_QUATERNION": replace(ours, method="DUAL_QUATERNION"),
            "COMPENSATED, published curve": replace(
                ours, compensation=PublishedCompensation.of(SkinAtRest(*of))
            ),
            _ALONE: ours,
            "COMPENSATED, ball joints": replace(ours, compensation=balls),
            "COMPENSATED, spread twist": replace(ours, twist_limbs=TwistLimbs.of(SkinAtRest(*of))),
            "COMPENSATED, blended, masked": replace(ours, blend=blend, mask=blend[::-1].copy()),
            "SPHERICAL_JOINT": replace(ours, method="SPHERICAL_JOINT"),
        }
        limbs = found["COMPENSATED, spread twist"].twist_limbs
        assert limbs is not None
        if swings_of(found["COMPENSATED, ball joints"]) is None:
            del found["COMPENSATED, ball joints"]
        if not len(limbs.rows):
            del found["COMPENSATED, spread twist"]
        return found


@dataclass(frozen=True, eq=False)
class Posed:
    """How instances of a character are posed.

    Attributes:
        count: of the instances.
        make: the poses on the GPU, of a layout; or of the instances of a list.
        pose: that of an instance in `core`.
        with_lists: whether instances can be chosen.
    """

    count: int
    make: Callable[[PosePaletteLayout, InstanceList | None], InstancePoses]
    pose: Callable[[int], Pose]
    with_lists: bool = False

    @classmethod
    def given(cls, skeleton: Skeleton, matrices: NDArray[np.floating], count: int) -> Posed:
        """All in one pose, as Blender has evaluated it: D of each row, shape (R, 4, 4)."""

        def make(layout: PosePaletteLayout, _chosen: InstanceList | None) -> InstancePoses:
            poses = GivenPoses(skeleton, count, layout)
            poses.upload(np.tile(matrices, (count, 1, 1)))
            return poses

        return cls(count, make, lambda _instance: Pose.from_matrices(matrices, skeleton))

    @classmethod
    def played(cls, skeleton: Skeleton, playing: Sequence[Playing], fps: float) -> Posed:
        """Each by a take."""

        def make(layout: PosePaletteLayout, chosen: InstanceList | None) -> InstancePoses:
            poses = Playback([Instances.of(playing)], layout, fps)
            poses.pose(FRAME, chosen)
            return poses

        def pose(instance: int) -> Pose:
            return Pose.from_matrices(pose_at(playing[instance], FRAME, fps), skeleton)

        return cls(len(playing), make, pose, with_lists=True)


@dataclass(frozen=True)
class Row:
    """A pass, run once.

    Attributes:
        count: of its vertices, or of what else it has an invocation for.
        error: the largest difference from `core`, as a part of what is tolerated; None for a pass
            whose result only others read.
    """

    name: str
    dispatch: Dispatch
    count: int
    error: float | None = None


class Bench:
    """Runs the passes for the instances of a character.

    Args:
        wide: the influences of another row, many for each vertex.
    """

    def __init__(self, character: Character, posed: Posed, wide: Influences | None) -> None:
        self._character, self._posed, self._wide = character, posed, wide
        self._passes: set[str] = set()

    def rows(self) -> Iterator[Row]:
        """Each pass once: those before skinning when a way of skinning first needs them."""
        of = self._character
        deformed = self._deformed(of.influences)
        for name, deformation in of.deformations().items():
            with_normals = name == _ALONE
            yield from self._skin(name, deformation, deformed, with_normals=with_normals)
            if with_normals and self._posed.with_lists:
                chosen = InstanceList(np.arange(self._posed.count))
                yield from self._skin(f"{name}, of a list", deformation, deformed, chosen)
            elif with_normals and self._posed.count == 1:
                yield self._distances(deformed)
        if self._wide is not None:
            deformed = self._deformed(self._wide)
            measured = MeasuredJoints.of(SkinAtRest(of.rest, self._wide, of.skeleton))
            for name, method in (("LINEAR", "LINEAR"), (_ALONE, _ALONE)):
                deformation = Deformation(method, self._wide, measured)
                yield from self._skin(
                    f"{name}, {self._wide.width} influences", deformation, deformed
                )
        yield from self._with_keys()

    def _deformed(
        self, influences: Influences, offsets: NDArray[np.float32] | None = None
    ) -> DeformedMesh:
        of = self._character
        mesh = GpuMesh(of.rest, influences, topology=of.topology, shape_offsets=offsets)
        return DeformedMesh(mesh, of.skeleton, self._posed.count)

    def _skin(
        self,
        name: str,
        deformation: Deformation,
        deformed: DeformedMesh,
        chosen: InstanceList | None = None,
        *,
        with_normals: bool = False,
        shape: Callable[[Pose], NDArray[np.floating]] | None = None,
        follow: Callable[[Any], None] | None = None,
    ) -> Iterator[Row]:
        with recorded() as dispatches:
            poses = self._posed.make(wanted_layout(deformation), chosen)
            (group,) = poses.groups
            if follow is not None:
                follow(group)
            part = None if chosen is None else chosen.part(0, self._posed.count)
            deformed.deform(deformation, poses, group, chosen=part, with_normals=with_normals)
        rows = group.row_count
        counts = {"locals": rows, "palettes": rows, "limbs": rows}
        if deformed.keys is not None and deformed.keys.moving is not None:
            counts["key_values"] = len(deformed.keys.moving.keys)
        counts["joints"] = (
            len(of.limbs.heads) if hasattr(of := deformation.compensation, "limbs") else 0
        )
        counts["centres"] = 0 if deformation.sets is None else deformation.sets.set_count
        counts["normals"] = deformed.mesh.group_count
        for dispatch in dispatches:
            written = dispatch.written
            if written == "positions":
                error = self._error(deformation, deformed, shape) / TOLERANCE
                yield Row(name, dispatch, self._posed.count * deformed.mesh.vertex_count, error)
            elif written not in self._passes:
                self._passes.add(written)
                error = self._normals_error(deformed) if written == "normals" else None
                # Instances share the shape keys whose values are given.
                count = counts.get(written, 0) * self._posed.count or deformed.mesh.vertex_count
                yield Row(PASSES[written], dispatch, count, error)

    def _with_keys(self) -> Iterator[Row]:
        """COMPENSATED with shape keys, and more by four example poses of each of four bones."""
        of, rng = self._character, np.random.default_rng(3)
        moving = np.flatnonzero(of.influences.moving_bones(of.skeleton.bone_count))
        bones = moving[np.linspace(1, len(moving) - 1, 4).astype(int)].tolist()
        poses = ExamplePoses.of(bent(of.skeleton, bones), of.skeleton)
        count = GIVEN_KEYS + poses.pose_count
        offsets = np.zeros((count, len(of.rest), 3), np.float32)
        offsets[:GIVEN_KEYS] = 0.01 * of.extent * rng.random((GIVEN_KEYS, len(of.rest), 3))
        offsets[:GIVEN_KEYS, rng.random(len(of.rest)) < 0.7] = 0.0
        for place, bone in enumerate(bones):
            inside = support(bone, of.influences, of.skeleton)
            first = GIVEN_KEYS + place * (poses.pose_count // len(bones))
            offsets[first : first + poses.pose_count // len(bones), inside, 2] = 0.01 * of.extent
        values = np.zeros(count)
        values[:GIVEN_KEYS] = rng.random(GIVEN_KEYS)
        keys = np.arange(GIVEN_KEYS, count)
        examples = Examples(poses, keys, np.ones(len(keys), np.float32), keys, ())
        deformed = self._deformed(of.influences, offsets)
        assert deformed.keys is not None
        deformed.keys.give(values)
        follow_keys = deformed.keys.connect

        def shape(pose: Pose) -> NDArray[np.floating]:
            acting = values.copy()
            acting[keys] = poses.alphas(pose)
            return of.rest + np.tensordot(acting, offsets, 1)

        measured = of.deformations()[_ALONE]
        yield from self._skin(
            f"{_ALONE}, by example",
            measured,
            deformed,
            shape=shape,
            follow=lambda group: follow_keys(group, {}, examples),
        )

    def _error(
        self,
        deformation: Deformation,
        deformed: DeformedMesh,
        shape: Callable[[Pose], NDArray[np.floating]] | None,
    ) -> float:
        """The largest difference from `core` in the first and the last instance, by the extent."""
        found, worst = deformed.read_positions(), 0.0
        for instance in {0, self._posed.count - 1}:
            pose = self._posed.pose(instance)
            rest = self._character.rest if shape is None else shape(pose)
            expected, _ = deform(deformation, np.asarray(rest, np.float64), None, pose)
            error = float(np.abs(found[instance] - expected).max())
            # A number that is none is no small one.
            worst = max(worst, error) if np.isfinite(error) else np.inf
        return worst / self._character.extent

    def _normals_error(self, deformed: DeformedMesh) -> float:
        assert deformed.normals is not None
        stride, instance = deformed.group_rows * TEXTURE_WIDTH, self._posed.count - 1
        pixels = array_from_texture(deformed.normals, deformed.count * stride)
        found = pixels.reshape(deformed.count, stride, 4)[instance, : deformed.mesh.group_count, :3]
        positions = deformed.read_positions()[instance].astype(np.float64)
        expected = self._character.topology.normals(positions)
        return float(np.abs(found - expected).max()) / NORMALS_TOLERANCE

    def _distances(self, deformed: DeformedMesh) -> Row:
        """What the overlay shows: how far COMPENSATED is from LINEAR."""
        of = self._character
        reference, pose = self._deformed(of.influences), self._posed.pose(0)
        linear = Deformation("LINEAR", of.influences)
        poses = self._posed.make(wanted_layout(linear), None)
        reference.deform(linear, poses, poses.groups[0])
        members = [SimpleNamespace(binding=of)]
        shown: Any = SimpleNamespace(deformed=deformed, members=members, revision=0)
        other: Any = SimpleNamespace(deformed=reference, members=members, revision=0)
        coloured = ColouredObject(shown)
        with recorded() as dispatches:
            coloured.update(shown, other, np.eye(4))
        rest, ours = of.rest.astype(np.float64), of.deformations()[_ALONE]
        apart = deform(ours, rest, None, pose)[0] - deform(linear, rest, None, pose)[0]
        error = np.abs(coloured.read_distances() - np.linalg.norm(apart, axis=1)).max()
        (dispatch,) = dispatches
        return Row(PASSES["distances"], dispatch, len(rest), error / of.extent / TOLERANCE)


def compile_drawing() -> None:
    """Compile what draws, which is not run here."""
    for listed in (False, True):
        shaders.surface_shader(listed)
        shaders.wire_shader(listed)
    shaders.overlay_shader()
