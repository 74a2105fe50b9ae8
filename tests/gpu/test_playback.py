"""Takes played on the GPU against `core`, which is the specification.

Tolerance: 1e-4 of the object's size, for float32 down chains of bones and weights of 16 bits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.core.compensation import PublishedCompensation
from dq_compensation.core.deform import METHODS, Deformation, deform
from dq_compensation.core.dual_quaternion import (
    concatenate_quaternions,
    quaternions_from_axis_angle,
    rotate_vectors,
)
from dq_compensation.core.example_poses import ExampleBone, ExamplePoses
from dq_compensation.core.measured_joints import MeasuredJoints
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.core.vectors import transformed_points
from dq_compensation.pipeline.takes.local_poses import LocalPoses
from dq_compensation.pipeline.takes.played_takes import (
    Instances,
    Playback,
    Playing,
    TakeTables,
    TakeTiming,
)
from dq_compensation.pipeline.takes.takes import (
    Keys,
    Take,
    TakeValues,
    node_names,
    node_parents,
    node_rest,
    take_times,
)
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.kept_examples import Examples
from dq_compensation.scene.settings.object_settings import Settings
from dq_compensation.viewport.array_textures import empty_texture, run_pass, texture_from_array
from dq_compensation.viewport.deformed_mesh import DeformedMesh, GpuMesh
from dq_compensation.viewport.instance_poses import GivenPoses, InstanceList
from dq_compensation.viewport.kernels import PosePaletteLayout, wanted_layout
from tests.gpu.one_instance import deform_in, read_normals
from tests.gpu.test_bendy_bones import curved, nearly_straight
from tests.gpu_memory import gpu_bytes
from tests.limb import build_bendy_limb
from tests.played_poses import fade_at, pose_at
from tests.replaced_functions import count_calls, replace_everywhere

TOLERANCE = 1e-4
LAYOUT = PosePaletteLayout(rotation=True, matrix=True)
LENGTH = 24


def make_take(
    skeleton: Skeleton, seed: int, angle: float = 0.4, scale: float = 0.0, **changed: Any
) -> Take:
    """Random turns, moves and scales of every bone, with keys at random frames, one to six."""
    rng = np.random.default_rng(seed)
    names, parents, rest = node_names(skeleton), node_parents(skeleton), node_rest(skeleton)
    above = np.where((parents >= 0)[:, None, None], rest[parents], np.eye(4))
    at_rest = LocalPoses.from_matrices(np.linalg.solve(above, rest))
    counts = rng.integers(1, 7, len(names))
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    nodes = np.repeat(np.arange(len(names)), counts)
    frames = np.concatenate([np.sort(rng.permutation(LENGTH + 1)[:count]) for count in counts])
    axes = rng.normal(size=(len(nodes), 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    turns = quaternions_from_axis_angle(axes, rng.uniform(-angle, angle, len(nodes)))
    scales = np.exp(scale * rng.normal(size=(len(nodes), 3))).astype(np.float32)
    take = Take(
        names,
        parents,
        rest,
        5,
        5 + LENGTH,
        24.0,
        Keys(offsets, frames.astype(np.uint16)),
        (at_rest.locations[nodes] + 0.01 * rng.normal(size=(len(nodes), 3))).astype(np.float32),
        concatenate_quaternions(at_rest.rotations[nodes], turns).astype(np.float32),
        scales if scale else None,
        TakeValues.none(),
    )
    return replace(take, **changed)


def instances_of(first: Take, second: Take) -> list[Playing]:
    """Looped, held at the end, backwards, within a cross-fade, and about a cut at 14.6."""
    return [
        Playing(TakeTiming(first, phase=3.3, speed=1.4)),
        Playing(TakeTiming(first, phase=-2.0, speed=2.5, loop=False)),
        Playing(TakeTiming(second, phase=40.0, speed=-0.7)),
        Playing(TakeTiming(first), TakeTiming(second, phase=7.0, loop=False), 10.0, 8.0),
        Playing(TakeTiming(first), TakeTiming(second, phase=1.0), 14.5, 0.0),
        Playing(TakeTiming(first), TakeTiming(second, phase=1.0), 14.6, 0.0),
        Playing(TakeTiming(first), TakeTiming(second, phase=1.0), 14.7, 0.0),
    ]


def deformations(human: Any, rest: NDArray[Any]) -> dict[str, Deformation]:
    """Each method; COMPENSATED by either kind of curve and blended."""
    fitted = PublishedCompensation.of(SkinAtRest(rest, human.influences, human.skeleton))
    of = (rest, human.influences, human.skeleton)
    measured, with_balls = (
        MeasuredJoints.of(SkinAtRest(*of), ball_joints=each) for each in (False, True)
    )
    blend = np.random.default_rng(2).random(len(rest)).astype(np.float32)
    found = {
        method: Deformation(method, human.influences, fitted, factor=0.7, sets=human.sets)
        for method in METHODS
    }
    compensated = replace(found["COMPENSATED"], compensation=measured)
    return found | {
        "MEASURED": compensated,
        "MEASURED with ball joints": replace(compensated, compensation=with_balls),
        "MEASURED, blended and masked": replace(compensated, blend=blend, mask=blend[::-1].copy()),
    }


@pytest.mark.parametrize("scale", [0.0, 0.2])
@pytest.mark.parametrize("interpolation", ["SLERP", "DUAL_QUATERNION"])
def test_positions_of_all_instances_equal_core(
    humans: dict[str, Any], scale: float, interpolation: Any
) -> None:
    human = humans["cmu_mb"]
    matrix = np.eye(4)
    matrix[:3, :3] = [[1.2, -0.5, 0.0], [0.4, 0.9, 0.1], [0.0, 0.2, 1.5]]
    matrix[:3, 3] = (0.3, -0.2, 0.7)
    rest = transformed_points(matrix, human.rest.astype(np.float64))
    skeleton, frame = human.skeleton, 14.6
    takes = [make_take(skeleton, seed, 0.6, scale, interpolation=interpolation) for seed in (1, 2)]
    instances = instances_of(*takes)
    mesh = GpuMesh(human.rest, human.influences)
    poses = [Pose.from_matrices(pose_at(each, frame), skeleton) for each in instances]
    assert poses[0].any_scaled == bool(scale)
    for name, deformation in deformations(human, rest).items():
        playback = Playback([Instances.of(instances)], wanted_layout(deformation), 24.0)
        assert playback.play(frame)
        assert not playback.play(frame)
        crowd = DeformedMesh(mesh, skeleton, len(instances))
        crowd.deform(deformation, playback, playback.groups[0], matrix)
        found = crowd.read_positions()
        for instance, pose in enumerate(poses):
            moved, _ = deform(deformation, rest, None, pose)
            expected = transformed_points(np.linalg.inv(matrix), moved)
            error = np.abs(found[instance] - expected).max() / human.size
            assert error <= TOLERANCE, f"{name}, instance {instance}: {error:.2e}"


def test_several_characters_play_in_the_same_two_dispatches(
    humans: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of different rigs and numbers; one group is skinned in two parts."""
    dispatches = count_calls(monkeypatch, run_pass)
    first, second = humans["cmu_mb"], humans["default"]
    of_first = instances_of(*(make_take(first.skeleton, seed, 0.3) for seed in (3, 4)))
    of_second = [Playing(TakeTiming(make_take(second.skeleton, 5, 0.1)))] * 2
    linear = Deformation("LINEAR", first.influences)
    playback = Playback(
        [Instances.of(of_first), Instances.of(of_second)], wanted_layout(linear), 24.0
    )
    playback.play(9.25)
    assert [arguments[4] for arguments in dispatches.arguments] == [9, 9]
    for human, deformation, group, start, count in (
        (first, linear, 0, 0, 2),
        (first, linear, 0, 2, 3),
        (second, Deformation("LINEAR", second.influences), 1, 0, 2),
    ):
        mesh = GpuMesh(human.rest, human.influences, topology=human.topology)
        crowd = DeformedMesh(mesh, human.skeleton, count)
        crowd.deform(deformation, playback, playback.groups[group], first=start)
        found, normals = crowd.read_positions(), read_normals(crowd)
        for place in range(count):
            playing = (of_first, of_second)[group][start + place]
            pose = Pose.from_matrices(pose_at(playing, 9.25), human.skeleton)
            moved, _ = deform(deformation, human.rest.astype(np.float64), None, pose)
            assert np.abs(found[place] - moved).max() <= TOLERANCE * human.size
            alone = DeformedMesh(mesh, human.skeleton)
            deform_in(alone, deformation, pose)
            assert np.abs(normals[place] - read_normals(alone)[0]).max() < 1e-2


def test_frames_allocate_nothing(humans: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    human = humans["cmu_mb"]
    rest = human.rest.astype(np.float64)
    instances = instances_of(*(make_take(human.skeleton, seed) for seed in (1, 2)))
    offsets = np.ones((2, len(rest), 3), np.float32)
    mesh = GpuMesh(
        human.rest,
        human.influences,
        topology=human.topology,
        shape_offsets=offsets,
    )
    for deformation in deformations(human, rest).values():
        playback = Playback([Instances.of(instances)], wanted_layout(deformation), 24.0)
        crowd = DeformedMesh(mesh, human.skeleton, len(instances))

        def frame(number: float, to: Any = (deformation, playback, crowd)) -> None:
            to[1].play(number)
            to[2].deform(to[0], to[1], to[1].groups[0])

        frame(1.0)
        on_gpu = gpu_bytes(crowd)
        with monkeypatch.context() as patched:
            for function in (texture_from_array, empty_texture):
                replace_everywhere(patched, function, pytest.fail)
            frame(2.5)
        assert gpu_bytes(crowd) == on_gpu


def test_only_the_instances_of_a_list_are_posed_and_skinned(humans: dict[str, Any]) -> None:
    human, linear = humans["cmu_mb"], Deformation("LINEAR", humans["cmu_mb"].influences)
    instances = instances_of(*(make_take(human.skeleton, seed) for seed in (1, 2)))
    playback = Playback([Instances.of(instances)] * 2, wanted_layout(linear), 24.0)
    mesh = GpuMesh(human.rest, human.influences, topology=human.topology)
    # The second group's instances from the third on.
    first = len(instances) + 2
    crowd = DeformedMesh(mesh, human.skeleton, len(instances) - 2)
    chosen = InstanceList(np.array([0, first + 1, first + 3]))
    playback.pose(9.25, chosen)
    part = chosen.part(first, crowd.count)
    assert part.count == 2
    crowd.deform(linear, playback, playback.groups[1], first=2, chosen=part)
    found = crowd.read_positions()
    for place, playing in enumerate(instances[2:]):
        if place not in {1, 3}:
            assert not found[place].any()
            continue
        pose = Pose.from_matrices(pose_at(playing, 9.25), human.skeleton)
        moved, _ = deform(linear, human.rest.astype(np.float64), None, pose)
        assert np.abs(found[place] - moved).max() <= TOLERANCE * human.size


def test_other_timings_of_the_same_takes_replace_one_texture(
    humans: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    human, linear = humans["cmu_mb"], Deformation("LINEAR", humans["cmu_mb"].influences)
    instances = instances_of(*(make_take(human.skeleton, seed) for seed in (1, 2)))
    playback = Playback([Instances.of(instances)], wanted_layout(linear), 24.0)
    crowd = DeformedMesh(GpuMesh(human.rest, human.influences), human.skeleton, len(instances))
    textures = {name: value for name, value in vars(playback).items() if name != "_instances"}
    # The order of the takes stays that of the first instance.
    changed = [instances[0], *instances[:0:-1]]
    assert playback.has_takes_of([Instances.of(changed)])
    replace_everywhere(monkeypatch, empty_texture, pytest.fail)
    playback.change([Instances.of(changed)])
    assert {name: vars(playback)[name] for name in textures} == textures
    playback.play(9.25)
    crowd.deform(linear, playback, playback.groups[0])
    for found, playing in zip(crowd.read_positions(), changed, strict=True):
        pose = Pose.from_matrices(pose_at(playing, 9.25), human.skeleton)
        moved, _ = deform(linear, human.rest.astype(np.float64), None, pose)
        assert np.abs(found - moved).max() <= TOLERANCE * human.size


def test_given_poses_equal_core(humans: dict[str, Any], make_pose: Any) -> None:
    """Poses that Blender has evaluated, with scales and without, in one upload."""
    human = humans["game_engine"]
    rest = human.rest.astype(np.float64)
    poses = [make_pose(human.skeleton, seed, 0.6, 0.3 * (seed % 2)) for seed in range(3)]
    mesh = GpuMesh(human.rest, human.influences)
    for name, deformation in deformations(human, rest).items():
        given = GivenPoses(human.skeleton, 3, wanted_layout(deformation))
        given.upload(np.concatenate([pose.matrices for pose in poses]))
        crowd = DeformedMesh(mesh, human.skeleton, 3)
        crowd.deform(deformation, given, given.groups[0])
        for pose, found in zip(poses, crowd.read_positions(), strict=True):
            expected, _ = deform(deformation, rest, None, pose)
            error = np.abs(found - expected).max() / human.size
            assert error <= TOLERANCE, f"{name}: {error:.2e}"


@pytest.mark.parametrize("weights", ["SMOOTH", "LINEAR"])
def test_shape_keys_of_takes_and_example_poses(humans: dict[str, Any], weights: Any) -> None:
    """A key follows a take that has it, another one is given, the others are example poses."""
    human = humans["cmu_mb"]
    skeleton, rng = human.skeleton, np.random.default_rng(6)
    offsets = 0.03 * rng.normal(size=(7, len(human.rest), 3)).astype(np.float32)
    offsets[rng.random(offsets.shape[:2]) < 0.6] = 0.0
    values = TakeValues(
        (("Body", "Smile"), ("Body", "Blink")),
        Keys(np.array([0, 1, 4], np.int32), np.array([0, 0, 10, 20], np.uint16)),
        np.array([0.4, 0.0, 1.3, -0.2], np.float32),
    )
    limbs = skeleton.limb_directions()
    # The first bone twists about one axis: full rotations in a row.
    axes = np.eye(3)[[0, 0] if weights == "LINEAR" else [0, 1]], np.eye(3)[:2]
    turned = [quaternions_from_axis_angle(each, np.array([0.7, 1.1])) for each in axes]
    examples = ExamplePoses.of(
        [
            ExampleBone(
                bone, ("a", "b"), rotate_vectors(turns, limbs[bone]), turns, 1.0, twists, weights
            )
            for bone, turns, twists in zip((0, 7), turned, (True, False), strict=True)
        ],
        skeleton,
    )
    assert len(examples.linear) == (2 if weights == "LINEAR" else 0)
    assert skeleton.parents[0] < 0
    takes = [make_take(skeleton, seed, 0.9, values=values) for seed in (7, 8)]
    instances = instances_of(*takes)
    linear, frame = Deformation("LINEAR", human.influences), 12.3
    playback = Playback([Instances.of(instances)], wanted_layout(linear), 24.0)
    group = playback.groups[0]
    playback.play(frame)
    mesh = GpuMesh(human.rest, human.influences, shape_offsets=offsets)
    crowd = DeformedMesh(mesh, skeleton, len(instances))
    assert crowd.keys is not None
    assert group.value_row("Body", "Frown") is None
    named = {2: ("Body", "Blink"), 4: ("Body", "Frown")}
    keys, factors = np.array([6, 3, 0, 5]), np.array([1.0, 0.5, 1.0, 1.0])
    crowd.keys.connect(group, named, Examples(examples, np.arange(4), factors, keys, ()))
    given = np.array([9.0, 0.6, 9.0, 9.0, -0.3, 9.0, 9.0])
    assert crowd.keys.give(given)
    assert not crowd.keys.give(given)
    crowd.deform(linear, playback, group)
    for playing, found in zip(instances, crowd.read_positions(), strict=True):
        pose = Pose.from_matrices(pose_at(playing, frame), skeleton)
        wanted = given.copy()
        wanted[keys] = examples.alphas(pose) * factors
        wanted[2] = _value(playing, frame)
        shape = human.rest + np.einsum("k,kni->ni", wanted, offsets.astype(np.float64))
        expected, _ = deform(linear, shape, None, pose)
        assert np.abs(found - expected).max() <= TOLERANCE * human.size


def _value(playing: Playing, frame: float) -> float:
    def of(timing: TakeTiming) -> float:
        times = take_times(timing.take, frame, timing.phase, timing.speed, loop=timing.loop)
        return float(timing.take.values.at(np.atleast_1d(times))[0, 1])

    if playing.second is None:
        return of(playing.first)
    fade = fade_at(playing, frame)
    return float((1.0 - fade) * of(playing.first) + fade * of(playing.second))


@pytest.mark.parametrize("shape", [curved, nearly_straight])
@pytest.mark.parametrize("curve", ["MEASURED", "FITTED"])
def test_bendy_bones(addon: None, shape: Any, curve: str) -> None:
    obj, armature = build_bendy_limb(7, "CURVED")
    shape(armature)
    obj.dq_compensation.curve = curve  # type: ignore[attr-defined]
    binding = bind(obj)
    deformation = binding.deformation(Settings.of(obj))
    given = GivenPoses(binding.skeleton, 1, wanted_layout(deformation))
    given.upload(binding.pose_matrices(armature))
    limb = DeformedMesh(GpuMesh(binding.rest, deformation.skinning), binding.skeleton, 1)
    limb.deform(deformation, given, given.groups[0], binding.object_to_armature)
    expected = api.evaluate(obj)
    error = np.linalg.norm(limb.read_positions()[0] - expected, axis=1).max()
    assert error <= TOLERANCE * np.ptp(expected, axis=0).max()


def test_more_instances_than_textures_hold_are_refused(humans: dict[str, Any]) -> None:
    human = humans["cmu_mb"]
    mesh = GpuMesh(human.rest, human.influences)
    with pytest.raises(ValueError, match="2000 instances of a mesh where 1170 fit"):
        DeformedMesh(mesh, human.skeleton, 2000)
    take = make_take(human.skeleton, 0)
    with pytest.raises(ValueError, match="a limit of 65535 instances"):
        TakeTables([[take]]).groups([65536])
    of_many_bones = make_take(humans["default"].skeleton, 0)
    with pytest.raises(ValueError, match="a limit of 16777216 texels"):
        TakeTables([[of_many_bones]]).groups([65535])


def test_takes_that_cannot_be_faded_are_refused(humans: dict[str, Any]) -> None:
    skeleton = humans["cmu_mb"].skeleton
    first = make_take(skeleton, 0)
    flat = replace(first, parents=np.full_like(first.parents, -1))
    with pytest.raises(ValueError, match="chain their bones differently"):
        Playback([Instances.of([Playing(TakeTiming(first), TakeTiming(flat))])], LAYOUT, 24.0)
    other = make_take(humans["game_engine"].skeleton, 0)
    with pytest.raises(ValueError, match="do not have the same bones"):
        TakeTables([[first, other]])
