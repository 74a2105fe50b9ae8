"""Plays a USD file in OpenUSD: `python play_openusd.py FILE OUT FRAME ...`, without bpy.

OUT gets float32 triples in world space: the vertices at rest, then in each frame.
"""

# Type checks run without what is in .venv-engines.
# pyright: reportMissingImports=false

import sys

import numpy as np
from numpy.typing import NDArray
from pxr import Usd, UsdGeom, UsdSkel


def _in_world(mesh: UsdGeom.Mesh, frame: Usd.TimeCode) -> NDArray[np.float32]:
    world = np.array(UsdGeom.XformCache(frame).GetLocalToWorldTransform(mesh.GetPrim()))
    # USD multiplies rows by matrices.
    return (np.array(mesh.GetPointsAttr().Get(frame)) @ world[:3, :3] + world[3, :3]).astype("f4")


def main(path: str, out: str, *frames: str) -> None:
    """Bake the skinning, and write the vertices of the only mesh."""
    stage = Usd.Stage.Open(path)
    (mesh,) = (UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh))
    at_rest = _in_world(mesh, Usd.TimeCode.EarliestTime())
    if not UsdSkel.BakeSkinning(stage.Traverse()):
        sys.exit(f"OpenUSD cannot bake the skinning of {path}")
    moved = [_in_world(mesh, Usd.TimeCode(float(frame))) for frame in frames]
    np.stack([at_rest, *moved]).tofile(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
