"""libigl's linear blend skinning: `python skin_libigl.py INPUT OUT`, without bpy.

INPUT is an .npz file, float64: `rest` (n, 3), `weights` (n, bones), `bones` (poses, bones, 3, 4).
OUT gets float64 triples: the vertices in each pose.
"""

# Type checks run without what is in .venv-engines.
# pyright: reportMissingImports=false

import sys

import igl
import numpy as np


def main(path: str, out: str) -> None:
    """Skin the vertices in every pose."""
    given = np.load(path)
    matrix = igl.lbs_matrix(given["rest"], given["weights"])
    # libigl multiplies by transposed matrices, one below the other.
    poses = given["bones"].swapaxes(2, 3).reshape(len(given["bones"]), -1, 3)
    np.stack([matrix @ pose for pose in poses]).tofile(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
