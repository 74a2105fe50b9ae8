"""Programs that play exported files; nobody here wrote them. Each runs in a process of its own.

A player gives shape (1 + frames, n, 3), world space of Blender, metres: the vertices of the file at
rest, in the order of the file, then those in each frame.
"""

from __future__ import annotations

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

Player = Callable[[Path, Sequence[int]], NDArray[np.float64]]


def play_openusd(path: Path, frames: Sequence[int]) -> NDArray[np.float64]:
    """OpenUSD: `UsdSkel.BakeSkinning` of the .usdc file."""
    python = ENVIRONMENTS["tools"].interpreter
    return _played([str(python), "play_openusd.py"], path.with_suffix(".usdc"), frames)


def play_three(path: Path, frames: Sequence[int]) -> NDArray[np.float64]:
    """three.js: `SkinnedMesh.getVertexPosition` of the .glb file."""
    return _played_by_node("play_three.js", path, frames)


def play_babylon(path: Path, frames: Sequence[int]) -> NDArray[np.float64]:
    """Babylon.js: `Mesh.getPositionData` of the .glb file."""
    return _played_by_node("play_babylon.js", path, frames)


def _played_by_node(script: str, path: Path, frames: Sequence[int]) -> NDArray[np.float64]:
    # Blender's exporter puts the frame 0 at 0 seconds: the first key is at 1/24.
    seconds = [frame / FPS for frame in frames]
    return in_blender(_played(["node", script], path.with_suffix(".glb"), seconds))


def _played(command: Sequence[str], path: Path, moments: Sequence[float]) -> NDArray[np.float64]:
    out = path.with_suffix(".f32")
    arguments = [str(path), str(out), *map(str, moments)]
    run = subprocess.run(
        [*command, *arguments], cwd=HERE, capture_output=True, text=True, check=False, timeout=120
    )
    assert run.returncode == 0, run.stderr
    return np.fromfile(out, "<f4").astype(np.float64).reshape(1 + len(moments), -1, 3)
