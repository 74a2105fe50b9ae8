"""Solved shapes on the GPU: finds their weights, and adds their offsets to deformed vertices.

Two passes behind the one that skins. The second one reads and writes the positions: a kernel has as
many textures as drivers allow already. Painted weights, blend and mask are linear in what is added,
so they are in the offsets.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Floats
from ..core.deform import BLENDED_METHODS, Deformation
from ..core.solved_shapes import SolvedShapes
from .kernels import MAX_TEXELS, RestTextures


def solved_of(deformation: Deformation) -> SolvedShapes | None:
    """The solved shapes that act; None without any."""
    solved = deformation.solved
    if solved is None or not len(solved.vertices):
        return None
    return solved if deformation.method != "COMPENSATED" or deformation.factor else None


def _offset_shares(deformation: Deformation) -> Floats | None:
    """What is painted for each vertex, shape (n,); None: 1 for all."""
    shares = replace(deformation, factor=1.0).solved_shares
    blend = deformation.blend if deformation.method in BLENDED_METHODS else None
    for weights in (blend, deformation.mask):
        if weights is not None:
            shares = weights if shares is None else shares * weights
    return shares


def _solved(deformation: Deformation) -> SolvedShapes:
    assert deformation.solved is not None
    return deformation.solved


def _weight_places(solved: SolvedShapes) -> list[int]:
    """The place of the weights of each block, and their end."""
    return np.cumsum([0, *(1 + len(block.poses) for block in solved.blocks)]).tolist()


def _weight_textures(deformation: Deformation) -> tuple[Floats, ...]:
    """`listed_poses` and `blocks` in `shape_weights.glsl`."""
    solved = _solved(deformation)
    hats, joint = solved.hats, solved.hats.joints
    poses = np.zeros((hats.count, 5, 4))
    poses[:, 0, 0], poses[:, 0, 1] = hats.before[joint], hats.behind[joint]
    poses[:, 0, 2] = hats.kinds[joint]
    poses[:, 1:3, :3] = hats.frames[joint, :2]
    poses[:, 3, :3] = hats.angles
    poses[:, 4, 0], poses[:, 4, 1:3] = hats.azimuths, hats.widths
    heads, rows = np.zeros((len(solved.blocks), 4)), list[Floats]()
    first, places = len(heads), _weight_places(solved)
    for number, block in enumerate(solved.blocks):
        count, width = block.poses.shape
        heads[number] = places[number], count, width, first
        listed = np.full((count, 4), -1.0)
        listed[:, :width] = block.poses
        rows.append(listed)
        first += count
    return poses.reshape(-1, 4), np.concatenate((heads, *rows))


def _offset_textures(deformation: Deformation) -> tuple[Floats, ...]:
    """`moved_vertices`, `shape_entries` and `shape_offsets` in `add_shapes.glsl`.

    Raises:
        ValueError: there are more offsets than a texture can address.
    """
    solved, shares = _solved(deformation), _offset_shares(deformation)
    places, entries, offsets, start = _weight_places(solved), list[Floats](), list[Floats](), 0
    for place, block in zip(places, solved.blocks, strict=False):
        shapes, count = block.offsets.shape[:2]
        of_block = np.zeros((count, 4))
        of_block[:, 0], of_block[:, 1], of_block[:, 3] = place, shapes, count
        of_block[:, 2] = start + np.arange(count)
        entries.append(of_block)
        scaled = block.offsets if shares is None else block.offsets * shares[block.vertices, None]
        offsets.append(scaled.reshape(-1, 3))
        start += shapes * count
    if start > MAX_TEXELS:
        raise ValueError(f"The GPU display has a limit of {MAX_TEXELS} offsets of solved shapes")
    vertices = np.concatenate([block.vertices for block in solved.blocks])
    order = np.argsort(vertices, kind="stable")
    distinct, counts = np.unique(vertices, return_counts=True)
    moved = np.zeros((len(distinct), 4))
    moved[:, 0], moved[:, 2] = distinct, counts
    moved[:, 1] = np.cumsum(counts) - counts
    packed = np.zeros((start, 4), np.float32)
    packed[:, :3] = np.concatenate(offsets)
    return moved, np.concatenate(entries)[order], packed


WEIGHTS = RestTextures(("listed_poses", "blocks"), ("solved",), _weight_textures)
OFFSETS = RestTextures(
    ("moved_vertices", "shape_entries", "shape_offsets"),
    ("solved", "painted", "blend", "mask"),
    _offset_textures,
)


def counts_of(solved: SolvedShapes) -> dict[str, int]:
    """The integers of both passes."""
    return {
        "block_count": len(solved.blocks),
        "weight_count": _weight_places(solved)[-1],
        "moved_count": len(solved.vertices),
    }
