"""The memory that figures of a crowd take on the GPU, from what their meshes and bones count to."""

from __future__ import annotations

from collections.abc import Iterable

# Textures are rows of so many pixels (`viewport.gpu.textures`).
_ROW_PIXELS = 1024
_POSITION_BYTES, _NORMAL_BYTES = 16, 8
# Of each row of a pose: its transform against its parent, three pixels; its row in a palette, five
# at most; the joints and the limb at its head, eight at most.
_POSE_ROW_BYTES = 16 * 16


def figure_bytes(meshes: Iterable[tuple[int, int]], pose_rows: int) -> int:
    """The memory of one figure.

    Args:
        meshes: of each mesh, the number of its vertices and of its normals.
        pose_rows: the rows of a pose of its armature.
    """
    return pose_rows * _POSE_ROW_BYTES + sum(
        _pixels(vertices) * _POSITION_BYTES + _pixels(normals) * _NORMAL_BYTES
        for vertices, normals in meshes
    )


def _pixels(count: int) -> int:
    return max(1, -(-count // _ROW_PIXELS)) * _ROW_PIXELS
