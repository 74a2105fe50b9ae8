"""Times the passes of the GPU display on the graphics card that is there, by the card's own clock.

    .venv-5.2/bin/python scripts/run.py card.measure [--scale 0.02] [--check]

The shaders and what they read are those of the package, on plain OpenGL 4.3 without a window. Each
one compiles without a warning and agrees with `core` before it is timed. `docs/measurements.md`
says what the columns mean.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np

from card.blender_gpu import (
    Dispatch,
    GPUShader,
    GPUShaderCreateInfo,
    GPUTexture,
    NoContextError,
    install,
    problems,
)

if TYPE_CHECKING:
    from card.passes import Bench, Row

SIDE, SMALL_SIDE = 251, 40
CHARACTERS, HUMANS, SMALL_COUNT = 100, 1000, 3
WIDE = 8
# What is timed at once takes so long, that the clock's steps do not show.
LEAST_SECONDS, MOST_RUNS = 2e-3, 200
COPY_ROWS = 16_384

COPY = """
void main()
{
  ivec2 texel = ivec2(gl_GlobalInvocationID.xy);
  imageStore(copied, texel, texelFetch(given, texel, 0));
}
"""


def scenes(scale: float, side: int) -> Iterator[tuple[str, Bench]]:
    """The title and the passes of each scene."""
    # These import the package's modules of the GPU, which take the installed module.
    import dq_compensation
    from benchmarks.graphics import BONES, build_armature, chain_influences, grid_surface
    from benchmarks.playback import playing_of, waving_take
    from card.passes import Bench, Character, Posed
    from dq_compensation.scene.binding.bind import bind
    from dq_compensation.scene.blender.armature import pose_matrices, pose_order, read_skeleton
    from human.model import build_human

    bpy.ops.wm.read_factory_settings(use_empty=True)
    dq_compensation.register()
    armature = build_armature()
    skeleton = read_skeleton(armature)
    rest, surface = grid_surface(side)
    character = Character(rest, chain_influences(rest), skeleton, surface)
    wide = chain_influences(rest, WIDE)
    matrices = pose_matrices(armature, pose_order(armature, skeleton))
    for count in (1, max(2, round(scale * CHARACTERS))):
        title = f"{count} x {len(rest):,} vertices, {BONES} bones, poses from Blender"
        yield title, Bench(character, Posed.given(skeleton, matrices, count), wide)
    body, _ = build_human("default")
    bpy.context.view_layer.update()
    binding = bind(body)
    take, count = waving_take(binding), max(2, round(scale * HUMANS))
    human = Character(binding.rest, binding.influences, binding.skeleton, binding.topology)
    playing = [playing_of(take, number) for number in range(count)]
    bones = binding.skeleton.bone_count
    title = f"{count} x {binding.vertex_count:,} vertices, {bones} bones, poses from takes"
    yield title, Bench(human, Posed.played(binding.skeleton, playing, take.fps), None)


def seconds_of(dispatches: Sequence[Dispatch], rounds: int) -> list[float]:
    """The median time of each pass, in turn, warm."""
    runs = []
    for dispatch in dispatches:
        dispatch.seconds(1)
        once = max(dispatch.seconds(1), 1e-9)
        runs.append(int(np.clip(LEAST_SECONDS / once, 1, MOST_RUNS)))
    times: list[list[float]] = [[] for _ in dispatches]
    for _ in range(rounds):
        for dispatch, count, found in zip(dispatches, runs, times, strict=True):
            found.append(dispatch.seconds(count) / count)
    return [statistics.median(found) for found in times]


def copying(scale: float) -> Dispatch:
    """A plain copy of a texture of 268 MB, or of so much of it."""
    info = GPUShaderCreateInfo()
    info.local_group_size(64, 1, 1)
    info.sampler(0, "FLOAT_2D", "given")
    info.image(0, "RGBA32F", "FLOAT_2D", "copied", qualifiers={"WRITE"})
    info.compute_source(COPY)
    rows = max(64, round(min(scale, 1.0) * COPY_ROWS))
    textures: dict[str, Any] = {
        name: GPUTexture((1024, rows), "RGBA32F") for name in ("given", "copied")
    }
    shader = GPUShader(info)
    shader.image("copied", textures["copied"])
    return Dispatch(shader, textures, {}, (16, rows, 1))


def print_times(rows: Sequence[Row], scale: float, rounds: int) -> None:
    """The table of a scene, and the copy that it is compared with."""
    copy = copying(scale)
    dispatches = [copy, *(row.dispatch for row in rows)]
    of_copy, *times = seconds_of(dispatches, rounds)
    bandwidth = copy.byte_count / of_copy
    of_linear = next(time for row, time in zip(rows, times, strict=True) if row.name == "LINEAR")
    print(f"{'pass':32}{'ms':>10}{'to LINEAR':>11}{'million/s':>11}{'MB':>10}{'of copy':>9}")
    for row, time in zip(rows, times, strict=True):
        size, per_second = row.dispatch.byte_count, row.count / time
        print(
            f"{row.name:32}{1e3 * time:10.4f}{time / of_linear:11.2f}{1e-6 * per_second:11.1f}"
            f"{1e-6 * size:10.2f}{size / time / bandwidth:9.0%}"
        )
    print(f"a plain copy: {1e-9 * bandwidth:.1f} GB/s")


def disagreements(rows: Sequence[Row]) -> list[str]:
    """What does not agree with `core`."""
    return [
        f"{row.name}: {row.error:.2g} times of what is tolerated away from core"
        for row in rows
        if row.error is not None and not row.error <= 1.0
    ]


def main() -> int:
    """Check, measure and print; 1 when a result or a shader is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of instances")
    parser.add_argument("--rounds", type=int, default=15, help="measurements of each pass")
    parser.add_argument("--device", type=int, default=0, help="the card, of several")
    parser.add_argument("--check", action="store_true", help="results of small scenes, no times")
    arguments = parser.parse_args()
    try:
        card = install(arguments.device)
    except NoContextError as error:
        print(f"SKIPPED: {error}")
        return 0 if arguments.check else 1
    print(card)
    small = arguments.check
    scale = SMALL_COUNT / HUMANS if small else arguments.scale
    wrong: list[str] = []
    for title, bench in scenes(scale, SMALL_SIDE if small else SIDE):
        rows = list(bench.rows())
        wrong += [f"{title}: {problem}" for problem in disagreements(rows)]
        errors = [row.error for row in rows if row.error is not None]
        print(f"\n{title}\n{len(errors)} results within {max(errors):.0%} of what is tolerated")
        if not small:
            print_times(rows, arguments.scale, arguments.rounds)
    from card.passes import compile_drawing

    compile_drawing()
    wrong += problems()
    print(f"\n{len(GPUShader.made)} shaders, {len(wrong)} problems")
    for problem in wrong:
        print(f"   {problem}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
