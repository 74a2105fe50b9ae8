"""Programs that play, check or skin, and that others wrote. Each runs in a process of its own.

A player gives shape (1 + frames, n, 3), world space of Blender, metres: the vertices of the file at
rest, in the order of the file, then those in each frame.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from environments import ENVIRONMENTS
from tests.blender.gltf_skinning import in_blender

FPS = 24

HERE = Path(__file__).parent
# What npm writes last.
INSTALLED = HERE / "node_modules" / ".package-lock.json"

PYTHON = str(ENVIRONMENTS["engines"].interpreter)

Player = Callable[[Path, Sequence[int]], NDArray[np.float64]]

Validator = Callable[[Sequence[Path]], list[list[tuple[bool, str]]]]
"""For each file what is wrong with it, and whether that is an error."""


def play_openusd(path: Path, frames: Sequence[int]) -> NDArray[np.float64]:
    """OpenUSD: `UsdSkel.BakeSkinning` of the .usdc file."""
    return _played([PYTHON, "play_openusd.py"], path.with_suffix(".usdc"), frames)


def play_three(path: Path, frames: Sequence[int]) -> NDArray[np.float64]:
    """three.js: `SkinnedMesh.getVertexPosition` of the .glb file."""
    return _played_by_node("play_three.js", path.with_suffix(".glb"), frames)


def play_three_fbx(path: Path, frames: Sequence[int]) -> NDArray[np.float64]:
    """three.js: the same of the .fbx file, where the frame 1 is at 0 seconds."""
    earlier = [frame - 1 for frame in frames]
    return _played_by_node("play_three.js", path.with_suffix(".fbx"), earlier)


def play_babylon(path: Path, frames: Sequence[int]) -> NDArray[np.float64]:
    """Babylon.js: `Mesh.getPositionData` of the .glb file."""
    return _played_by_node("play_babylon.js", path.with_suffix(".glb"), frames)


def validate_gltf(paths: Sequence[Path]) -> list[list[tuple[bool, str]]]:
    """Khronos' validator."""
    return _validated(["node", "validate_gltf.js"], paths)


def validate_usd(paths: Sequence[Path]) -> list[list[tuple[bool, str]]]:
    """OpenUSD's validators, and NVIDIA's."""
    return _validated([PYTHON, "validate_usd.py"], paths)


def skin_with_libigl(
    folder: Path,
    rest: NDArray[np.float64],
    weights: NDArray[np.float64],
    bones: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Linear skinning by `lbs_matrix` of libigl.

    Args:
        folder: an empty one.
        rest: shape (n, 3).
        weights: shape (n, bones).
        bones: shape (poses, bones, 3, 4), from rest to each pose.

    Returns:
        shape (poses, n, 3).
    """
    given, out = folder / "given.npz", folder / "out.f64"
    np.savez(given, rest=rest, weights=weights, bones=bones)
    _run([PYTHON, "skin_libigl.py", str(given), str(out)])
    return np.fromfile(out).reshape(len(bones), -1, 3)


def _played_by_node(script: str, path: Path, frames: Sequence[int]) -> NDArray[np.float64]:
    # Blender's exporter of glTF puts the frame 0 at 0 seconds: the first key is at 1/24.
    return in_blender(_played(["node", script], path, [frame / FPS for frame in frames]))


def _played(command: Sequence[str], path: Path, moments: Sequence[float]) -> NDArray[np.float64]:
    out = path.with_suffix(".f32")
    _run([*command, str(path), str(out), *map(str, moments)])
    return np.fromfile(out, "<f4").astype(np.float64).reshape(1 + len(moments), -1, 3)


def _validated(command: Sequence[str], paths: Sequence[Path]) -> list[list[tuple[bool, str]]]:
    # What comes before the last line are messages.
    found = json.loads(_run([*command, *map(str, paths)]).splitlines()[-1])
    return [[(is_error, what) for is_error, what in issues] for issues in found]


def _run(command: Sequence[str]) -> str:
    run = subprocess.run(
        command, cwd=HERE, capture_output=True, text=True, check=False, timeout=120
    )
    assert run.returncode == 0, run.stderr
    return run.stdout
