"""The pose palette on the GPU: the transforms of all bones of an armature, for the shaders."""

from __future__ import annotations

import numpy as np
from gpu.types import GPUShader, GPUTexture, GPUUniformBuf
from numpy.typing import NDArray

from ..core.bendy_bones import limb_straightness
from ..core.dual_quaternion import rotate_vectors
from ..core.limb_joints import LimbJoints
from ..core.pose import Pose
from ..core.skeleton import Skeleton
from .gpu_objects import new_texture, new_uniform_buffer, update_uniform_buffer
from .kernels import PosePaletteLayout
from .shader_building import PALETTE_BLOCK_TEXELS, TEXTURE_WIDTH
from .textures import row_count


class PosePalette:
    """The pose of one armature on the GPU, shared by all the objects that it deforms.

    `update` costs next to nothing; what a method needs is packed and uploaded when it is first
    bound after an update, into buffers that live as long as the palette.

    Args:
        skeleton: of the armature.
    """

    def __init__(self, skeleton: Skeleton) -> None:
        self._skeleton = skeleton
        self._pose: Pose | None = None
        self._scaled = False
        self._frame = 0
        # By layout, and by joints and limbs, which meshes of one armature mostly share.
        self._packed: dict[tuple[PosePaletteLayout, bytes], _PackedPose] = {}

    @property
    def row_count(self) -> int:
        """The number of rows of a pose: the bones, and the segments of bendy bones."""
        return self._skeleton.row_count

    @property
    def pose(self) -> Pose:
        """The pose of the last update."""
        if self._pose is None:
            raise ValueError("PosePalette: update it with a pose before it is bound")
        return self._pose

    @property
    def scaled(self) -> bool:
        """Whether any bone of the pose has a scale."""
        return self._scaled

    def update(self, pose: Pose) -> None:
        """Take a new pose.

        Raises:
            ValueError: it has another number of rows.
        """
        if len(pose.matrices) != self.row_count:
            raise ValueError(
                f"PosePalette: a pose of {len(pose.matrices)} rows for {self.row_count}"
            )
        self._pose = pose
        self._scaled = pose.any_scaled
        self._frame += 1

    def in_texture(self, layout: PosePaletteLayout, joints: LimbJoints | None = None) -> bool:
        """Whether the layout, of the bones or of joints, is too large for a uniform buffer."""
        count = self.row_count if joints is None else len(joints.heads)
        return count * layout.stride > PALETTE_BLOCK_TEXELS

    def bind(
        self,
        shader: GPUShader,
        layout: PosePaletteLayout,
        joints: LimbJoints | None = None,
        limb_directions: NDArray[np.floating] | None = None,
    ) -> None:
        """Give the pose to a bound shader that was compiled for `layout` and `in_texture`.

        Args:
            joints: of the armature's bones, for `JOINTS_LAYOUT`.
            limb_directions: shape (B, 3), of the bones, for a layout with limbs.
        """
        limbs = b"" if limb_directions is None else limb_directions.tobytes()
        key = (layout, limbs if joints is None else joints.identity)
        packed = self._packed.get(key)
        if packed is None:
            # Those of meshes that have changed since are not used any more.
            recent = {k: p for k, p in self._packed.items() if p.frame >= self._frame - 1}
            packed = _PackedPose(layout, self._skeleton, limb_directions, joints)
            self._packed = recent | {key: packed}
        packed.bind(shader, self.pose, self._frame)

    def gpu_bytes(self) -> int:
        """The size of the palette on the GPU."""
        return sum(packed.texels.nbytes for packed in self._packed.values())


class _PackedPose:
    """One layout of a palette: an array that is packed in place, and its copy on the GPU."""

    def __init__(
        self,
        layout: PosePaletteLayout,
        skeleton: Skeleton,
        limb_directions: NDArray[np.floating] | None,
        joints: LimbJoints | None,
    ) -> None:
        count = skeleton.row_count if joints is None else len(joints.heads)
        used = count * layout.stride
        self._layout = layout
        self._skeleton = skeleton
        self._limb_directions = None
        if limb_directions is not None:
            self._limb_directions = limb_directions[skeleton.bone_of_row]
        self._joints = joints
        self._in_texture = used > PALETTE_BLOCK_TEXELS
        size = row_count(used) * TEXTURE_WIDTH if self._in_texture else PALETTE_BLOCK_TEXELS
        self.texels = np.zeros((size, 4), np.float32)
        # Of each row of the pose, or of each joint.
        self._rows = self.texels[:used].reshape(count, layout.stride, 4)
        self._texture: GPUTexture | None = None
        self._block: GPUUniformBuf | None = None
        self.frame = 0
        if joints is not None:
            for place, rest in ((1, joints.heads), (2, joints.forth), (4, joints.back)):
                self._rows[:, place, :3] = rest

    def bind(self, shader: GPUShader, pose: Pose, frame: int) -> None:
        if frame != self.frame:
            self._pack(pose)
            self._upload()
            self.frame = frame
        name = "palette" if self._joints is None else "joints"
        if self._texture is not None:
            shader.uniform_sampler(f"{name}_texture", self._texture)
        elif self._block is not None:
            shader.uniform_block(name, self._block)

    def _pack(self, pose: Pose) -> None:
        rows, layout, limb_directions = self._rows, self._layout, self._limb_directions
        if self._joints is not None:
            posed = self._joints.posed(pose)
            rows[:, 0, :3] = posed.heads
            rows[:, 0, 3] = posed.sizes
            rows[:, 1, 3] = posed.gaps
            rows[:, (2, 4), 3] = posed.straightness
            rows[:, (3, 5), :3] = posed.rays
            return
        place = 0
        if layout.rotation:
            rows[:, place] = pose.rotations
            place += 1
        if layout.dual:
            rows[:, place] = pose.duals
            place += 1
        if layout.matrix:
            rows[:, place : place + 3] = pose.matrices[:, :3]
            place += 3
        if layout.limb:
            assert limb_directions is not None
            if pose.any_scaled:
                rows[:, place, :3] = rotate_vectors(pose.rotations, limb_directions)
            else:
                # The matrices are rotations then, and one product is a quarter of the time.
                turned = pose.matrices[:, :3, :3] @ limb_directions[:, :, None]
                rows[:, place, :3] = turned[:, :, 0]
            skeleton = self._skeleton
            rows[:, place, 3] = limb_straightness(skeleton, pose)[skeleton.bone_of_row]

    def _upload(self) -> None:
        if self._in_texture:
            # Textures cannot be updated from Python; one of this size takes 0.01 ms to create.
            size = (TEXTURE_WIDTH, len(self.texels) // TEXTURE_WIDTH)
            self._texture = new_texture(size, "RGBA32F", self.texels)
        elif self._block is None:
            self._block = new_uniform_buffer(self.texels)
        else:
            update_uniform_buffer(self._block, self.texels)
