"""Direct delta mush (B. Le, J. P. Lewis 2019) by libigl, for comparison.

It smooths what linear skinning gives, as *Corrective Smooth* does, by matrices that are computed
once. libigl has the first variant, of full quality: `direct_delta_mush`. It is in `.venv-engines`
and runs in a process of its own. Vertices that it does not leave in their places at rest, where
cotangents are far below 0, follow linear skinning: 36 in the nose of the human.
"""

from __future__ import annotations

import subprocess
import weakref
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from dq_compensation.core.pose import Pose
from dq_compensation.core.skinning import linear_blend
from dq_compensation.core.vectors import extent
from environments import ENVIRONMENTS
from quality.body import Body, triangles_of

# p, lambda, kappa and alpha of the paper, as libigl's tutorial has them.
SETTINGS = (20, 3.0, 1.0, 0.8)

# What leaves its place at rest by more, in sizes of the body, is lost.
_HELD = 1e-5
_PYTHON = ENVIRONMENTS["engines"].interpreter
MISSING = f"Direct delta mush is left out: {_PYTHON.parent.parent.name} is missing (make setup)."


def is_installed() -> bool:
    """Whether there is what runs it."""
    return _PYTHON.exists()


class DeltaMush:
    """A body whose matrices are computed; it takes a second to minutes.

    Attributes:
        lost: vertices that do not stay in their places at rest.
    """

    def __init__(self, body: Body) -> None:
        influences, count = body.influences, body.skeleton.bone_count
        weights = np.zeros((len(body.rest), count))
        rows = np.arange(len(weights))[:, None]
        np.add.at(weights, (rows, influences.bones), influences.weights)
        self._bones = np.flatnonzero(weights.any(axis=0))
        weights /= weights.sum(axis=1, keepdims=True)
        weights = np.ascontiguousarray(weights[:, self._bones])
        self._shape = body.rest.shape
        folder = TemporaryDirectory()
        path = Path(folder.name) / "given.npz"
        triangles = triangles_of(body.faces)
        np.savez(path, rest=body.rest, triangles=triangles, weights=weights, settings=SETTINGS)
        command = [str(_PYTHON), str(Path(__file__).with_name("mush_libigl.py")), str(path)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe)
        weakref.finalize(self, _end, self._process, folder)
        self._body = body
        at_rest = self._moved(Pose.from_matrices(np.tile(np.eye(4), (count, 1, 1)), body.skeleton))
        off = np.linalg.norm(at_rest - body.rest, axis=1)
        self.lost = np.flatnonzero(off > _HELD * extent(body.rest))

    def deform(self, pose: Pose) -> NDArray[np.float64]:
        """Shape (n, 3), in a pose."""
        found = self._moved(pose)
        linear, _ = linear_blend(self._body.rest, None, self._body.influences, pose)
        found[self.lost] = linear[self.lost]
        return found

    def _moved(self, pose: Pose) -> NDArray[np.float64]:
        matrices = pose.matrices[self._bones, :3].swapaxes(1, 2)
        given, found = (cast("IO[bytes]", p) for p in (self._process.stdin, self._process.stdout))
        given.write(np.ascontiguousarray(matrices, np.float64).tobytes())
        given.flush()
        moved = found.read(8 * self._shape[0] * self._shape[1])
        if not moved:
            raise RuntimeError("libigl has ended: it says why above")
        return np.frombuffer(moved).reshape(self._shape).copy()


def _end(process: subprocess.Popen[bytes], folder: TemporaryDirectory[str]) -> None:
    process.communicate()
    folder.cleanup()
