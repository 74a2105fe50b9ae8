"""libigl's direct delta mush: `python mush_libigl.py INPUT`, without bpy.

INPUT is an .npz file: `rest` (n, 3), `triangles` (t, 3), `weights` (n, bones), and `settings`: the
number of iterations p, then lambda, kappa and alpha. Standard input gives poses, each (bones, 4, 3)
in float64: transposed matrices from rest. Standard output gets the vertices (n, 3) in each.
"""

# Type checks run without what is in .venv-engines.
# pyright: reportMissingImports=false

import sys

import igl
import numpy as np


def main(path: str) -> None:
    """Skin the vertices in each pose, until there is none any more."""
    given = np.load(path)
    rest, weights = given["rest"], given["weights"]
    steps, *rates = given["settings"].tolist()
    omega = igl.direct_delta_mush_precomputation(
        rest, given["triangles"], weights, int(steps), *rates
    )
    size = weights.shape[1] * 12 * 8
    while pose := sys.stdin.buffer.read(size):
        moved = igl.direct_delta_mush(rest, np.frombuffer(pose).reshape(-1, 3), omega)
        sys.stdout.buffer.write(np.ascontiguousarray(moved).tobytes())
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1])
