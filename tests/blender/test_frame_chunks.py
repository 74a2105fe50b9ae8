"""Frames that were computed in chunks, and merged, equal those of one bake bit for bit."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.bake.baking import RangeOptions, bake_range
from dq_compensation.bake.chunk_merging import merge_files, read_chunks
from dq_compensation.bake.frame_chunks import CharacterFrames, FrameChunk, joined, write_chunk
from dq_compensation.core.rest_offsets import Target
from dq_compensation.errors import UserError
from tests.blender.bake_scenes import LAST_FRAME
from tests.blender.enabled_scenes import enable
from tests.limb import build_limb

Result = TypeVar("Result")


@pytest.fixture
def limb(addon: None) -> bpy.types.Object:
    """The limb of three bones, bent in the frames 1 to 8, enabled."""
    obj, armature = build_limb()
    scene = bpy.context.scene
    for frame, angle in ((1, 0.0), (5, 1.2), (LAST_FRAME, -0.4)):
        for bone in armature.pose.bones:
            bone.rotation_mode = "XYZ"
            bone.rotation_euler = (angle, 0.5 * angle, -angle)
            bone.keyframe_insert("rotation_euler", frame=frame)
    scene.frame_set(3)
    enable(obj)
    return obj


def finished(steps: Generator[object, None, Result]) -> Result:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def chunk_file(
    obj: bpy.types.Object, first: int, last: int, folder: Path, target: Target | None = None
) -> Path:
    path = folder / f"{first}-{last}.npz"
    api.write_chunk(obj, path, first, last, shape_keys_for=target)
    return path


def key_shapes(obj: bpy.types.Object) -> dict[str, NDArray[np.float32]]:
    shapes: dict[str, NDArray[np.float32]] = {}
    for block in obj.data.shape_keys.key_blocks:
        shapes[block.name] = np.empty(3 * len(block.points), np.float32)
        block.points.foreach_get("co", shapes[block.name])
    return shapes


def small_chunk(name: str, frames: range, **changes: object) -> FrameChunk:
    """Frames of an object of four vertices; each vector is the number of the frame."""
    numbers = np.array(frames, np.float32)[:, None, None]
    values = np.broadcast_to(numbers, (len(frames), 4, 3)).copy()
    character = CharacterFrames("Body", values, np.zeros(4, np.bool_), {"weights": "a"})
    fields = {
        name: changes.pop(name)
        for name in ("object_name", "values", "unreached", "made_from")
        if name in changes
    }
    character = replace(character, **fields)
    return replace(FrameChunk(name, tuple(frames), 24.0, None, (character,)), **changes)


@pytest.mark.parametrize("ending", ["pc2", "mdd"])
def test_a_merged_cache_equals_that_of_one_process(
    limb: bpy.types.Object, tmp_path: Path, ending: str
) -> None:
    paths = [chunk_file(limb, 4, LAST_FRAME, tmp_path), chunk_file(limb, 1, 3, tmp_path)]
    whole, merged = tmp_path / f"whole.{ending}", tmp_path / f"merged.{ending}"
    api.bake_cache(limb, whole, 1, LAST_FRAME)
    report = api.merge_chunks(paths, merged)[0]
    assert report.sentence() == f"Wrote 8 frames of Limb to {merged}."
    assert merged.read_bytes() == whole.read_bytes()
    assert bpy.context.scene.frame_current == 3


@pytest.mark.parametrize(("target", "tolerance"), [("LINEAR", 0.0), ("DUAL_QUATERNION", 5.0)])
def test_shape_keys_from_chunks_equal_those_of_one_bake(
    limb: bpy.types.Object, tmp_path: Path, target: Target, tolerance: float
) -> None:
    paths = [chunk_file(limb, 1, 5, tmp_path, target), chunk_file(limb, 6, 8, tmp_path, target)]
    shapes: list[dict[str, NDArray[np.float32]]] = []
    # Blender 4.2 gives the armature a strip at a bake: the chunks are of the state before.
    for chunks in (paths, ()):
        limb.hide_set(False)
        report = api.bake_frames(
            limb, 1, LAST_FRAME, target=target, tolerance=tolerance, onto="COPY", chunks=chunks
        )
        shapes.append(key_shapes(bpy.data.objects[report.onto_name]))
    one, other = shapes
    assert list(one) == list(other)
    assert 2 < len(one) <= LAST_FRAME + 1
    for name, shape in one.items():
        np.testing.assert_array_equal(shape, other[name])


def test_a_chunk_has_the_positions_of_evaluate(limb: bpy.types.Object, tmp_path: Path) -> None:
    chunk = read_chunks([chunk_file(limb, 2, 4, tmp_path)])
    for frame, positions in zip(chunk.frames, chunk.of("Limb").values, strict=True):
        bpy.context.scene.frame_set(frame)
        np.testing.assert_array_equal(positions, api.evaluate(limb))


def test_chunks_of_different_states_are_refused(limb: bpy.types.Object, tmp_path: Path) -> None:
    one = chunk_file(limb, 1, 3, tmp_path)
    limb.dq_compensation.factor = 0.5
    limb.data.vertices[0].co.x += 0.1
    bpy.context.view_layer.update()
    with pytest.raises(UserError, match=r"^4-8.npz and 1-3.* Limb: settings, vertices changed"):
        read_chunks([one, chunk_file(limb, 4, 8, tmp_path)])


def test_keys_are_not_baked_from_another_state(limb: bpy.types.Object, tmp_path: Path) -> None:
    chunk = read_chunks([chunk_file(limb, 1, 8, tmp_path, "LINEAR")])
    with pytest.raises(UserError, match=r"1-8.npz has 8 frames from 1 to 8, not 7 frames"):
        finished(bake_range([limb], RangeOptions(1, 7), chunk))
    with pytest.raises(UserError, match=r"1-8.npz has no shape keys for DUAL_QUATERNION"):
        finished(bake_range([limb], RangeOptions(1, 8, target="DUAL_QUATERNION"), chunk))
    limb.dq_compensation.method = "DUAL_QUATERNION"
    with pytest.raises(UserError, match=r"^Limb is not as it was when 1-8.npz was made: settings"):
        finished(bake_range([limb], RangeOptions(1, 8), chunk))
    assert limb.data.shape_keys is None


@pytest.mark.parametrize(
    ("second", "sentence"),
    [
        (small_chunk("b", range(6, 9)), "after frame 4 of a comes frame 6 of b"),
        (small_chunk("b", range(4, 9)), "Frame 4 is in a and in b"),
        (small_chunk("b", range(5, 9), object_name="Head"), "b has frames of Head, a of Body"),
        (small_chunk("b", range(5, 9), target="LINEAR"), "b has shape keys for LINEAR, a has pos"),
        (small_chunk("b", range(5, 9), made_from={"weights": "b"}), "b and a .* weights changed"),
        (
            small_chunk("b", range(5, 7), values=np.zeros((2, 5, 3), np.float32)),
            "Body has 5 vertices in b and 4 vertices in a",
        ),
    ],
)
def test_chunks_that_do_not_fit_are_named(second: FrameChunk, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        joined([second, small_chunk("a", range(1, 5))])


def test_chunks_are_joined_in_any_order_and_at_any_step() -> None:
    chunks = [small_chunk(f"{first}", range(first, 12, 3)) for first in (3, 1, 2)]
    whole = joined(chunks)
    assert whole.frames == tuple(range(1, 12))
    np.testing.assert_array_equal(whole.of("Body").values[:, 0, 0], whole.frames)
    assert joined([small_chunk("a", range(1, 12, 5))], frames=(1, 6, 11)).frames == (1, 6, 11)
    with pytest.raises(UserError, match=r"No chunk has frame 12"):
        joined(chunks, frames=range(1, 13))
    with pytest.raises(UserError, match=r"Frame 11 of 2 is outside"):
        joined(chunks, frames=range(1, 11))


def test_files_that_are_no_chunks_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with pytest.raises(UserError, match=r"There is no file .*a\.npz"):
        read_chunks([path])
    write_chunk(small_chunk("a", range(1, 4)), path)
    whole = path.read_bytes()
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    np.save(tmp_path / "other.npy", np.zeros(3))
    for content in (
        b"",
        b"nothing of the kind",
        whole[: len(whole) // 2],
        (tmp_path / "other.npz").read_bytes(),
        (tmp_path / "other.npy").read_bytes(),
    ):
        path.write_bytes(content)
        with pytest.raises(UserError, match=r"a\.npz does not contain frames"):
            read_chunks([path])


def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_chunk(small_chunk("a", range(1, 4)), path)
    with pytest.raises(UserError, match=r"ends with none of \.npz, \.pc2, \.mdd"):
        merge_files([path], tmp_path / "a.abc")
    with pytest.raises(UserError, match=r"missing/a\.npz cannot be written: No such file"):
        merge_files([path], tmp_path / "missing" / "a.npz")
    write_chunk(small_chunk("a", range(1, 4), target="LINEAR"), path)
    with pytest.raises(UserError, match=r"a\.npz has offsets of shape keys"):
        merge_files([path], tmp_path / "a.pc2")
    assert [each.name for each in tmp_path.iterdir()] == ["a.npz"]
