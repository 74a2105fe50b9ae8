"""The palette: what every bone of an armature does in one frame, as the shaders read it."""

from __future__ import annotations

import numpy as np
from gpu.types import GPUShader, GPUTexture, GPUUniformBuf
from numpy.typing import NDArray

from ..core.dual_quaternion import rotate_vectors
from ..core.pose import Pose
from .gpu_objects import new_texture, new_uniform_buffer, update_uniform_buffer
from .shaders import PALETTE_BLOCK_TEXELS, TEXTURE_WIDTH, PaletteLayout
from .textures import row_count


class Palette:
    """The pose of one armature on the GPU, shared by all the objects that it deforms.

    `update` costs next to nothing; what a method needs is packed and uploaded when it is first
    bound after an update, into buffers that live as long as the palette.

    Args:
        limb_directions: shape (B, 3), unit, armature space at rest; `Skeleton.limb_directions`.
    """

    def __init__(self, limb_directions: NDArray[np.floating]) -> None:
        self._limb_directions = np.ascontiguousarray(limb_directions, dtype=np.float64)
        self._pose: Pose | None = None
        self._scaled = False
        self._frame = 0
        self._packed: dict[PaletteLayout, _PackedPose] = {}

    @property
    def bone_count(self) -> int:
        """The number of bones of the armature."""
        return len(self._limb_directions)

    @property
    def pose(self) -> Pose:
        """The pose of the last update."""
        if self._pose is None:
            raise ValueError("Palette: update it with a pose before it is bound")
        return self._pose

    @property
    def scaled(self) -> bool:
        """Some bone of the pose has a scale."""
        return self._scaled

    def update(self, pose: Pose) -> None:
        """Take a new pose.

        Raises:
            ValueError: it has another number of bones.
        """
        if len(pose.matrices) != self.bone_count:
            raise ValueError(f"Palette: a pose of {len(pose.matrices)} bones for {self.bone_count}")
        self._pose = pose
        self._scaled = pose.any_scaled
        self._frame += 1

    def in_texture(self, layout: PaletteLayout) -> bool:
        """Whether the layout is too large for a uniform buffer."""
        return self.bone_count * layout.stride > PALETTE_BLOCK_TEXELS

    def bind(self, shader: GPUShader, layout: PaletteLayout) -> None:
        """Give the pose to a bound shader that was compiled for `layout` and `in_texture`."""
        packed = self._packed.get(layout)
        if packed is None:
            packed = self._packed[layout] = _PackedPose(self.bone_count, layout)
        packed.bind(shader, self.pose, self._limb_directions, self._frame)

    def gpu_bytes(self) -> int:
        """What the palette takes on the GPU now."""
        return sum(packed.texels.nbytes for packed in self._packed.values())


class _PackedPose:
    """One layout of a palette: an array that is packed in place, and its copy on the GPU."""

    def __init__(self, bone_count: int, layout: PaletteLayout) -> None:
        used = bone_count * layout.stride
        self._layout = layout
        self._in_texture = used > PALETTE_BLOCK_TEXELS
        count = row_count(used) * TEXTURE_WIDTH if self._in_texture else PALETTE_BLOCK_TEXELS
        self.texels = np.zeros((count, 4), np.float32)
        self._bones = self.texels[:used].reshape(bone_count, layout.stride, 4)
        self._texture: GPUTexture | None = None
        self._block: GPUUniformBuf | None = None
        self._frame = 0

    def bind(
        self, shader: GPUShader, pose: Pose, limb_directions: NDArray[np.float64], frame: int
    ) -> None:
        if frame != self._frame:
            self._pack(pose, limb_directions)
            self._upload()
            self._frame = frame
        if self._texture is not None:
            shader.uniform_sampler("palette_texture", self._texture)
        elif self._block is not None:
            shader.uniform_block("palette", self._block)

    def _pack(self, pose: Pose, limb_directions: NDArray[np.float64]) -> None:
        bones, layout = self._bones, self._layout
        place = 0
        if layout.rotation:
            bones[:, place] = pose.rotations
            place += 1
        if layout.dual:
            bones[:, place] = pose.duals
            place += 1
        if layout.matrix:
            bones[:, place : place + 3] = pose.matrices[:, :3]
            place += 3
        if layout.limb:
            if pose.any_scaled:
                bones[:, place, :3] = rotate_vectors(pose.rotations, limb_directions)
            else:
                # The matrices are rotations then, and one product is a quarter of the time.
                turned = pose.matrices[:, :3, :3] @ limb_directions[:, :, None]
                bones[:, place, :3] = turned[:, :, 0]

    def _upload(self) -> None:
        if self._in_texture:
            # Textures cannot be updated from Python; one of this size takes 0.01 ms to create.
            size = (TEXTURE_WIDTH, len(self.texels) // TEXTURE_WIDTH)
            self._texture = new_texture(size, "RGBA32F", self.texels)
        elif self._block is None:
            self._block = new_uniform_buffer(self.texels)
        else:
            update_uniform_buffer(self._block, self.texels)
