"""The kernels that skin vertices, and what each one reads of a pose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from ...core.deform import Deformation
from ...core.measured_joints import MeasuredJoints
from ...core.swing_joints import SWINGS, SwingJoints
from ...core.twist_limbs import TURNS, TwistLimbs

Kernel = Literal["LINEAR", "DUAL_QUATERNION", "PUBLISHED", "MEASURED", "SPHERICAL_JOINT"]
"""The ways to skin vertices: the methods, with COMPENSATED by the published curves and MEASURED."""


@dataclass(frozen=True)
class PosePaletteLayout:
    """The parts of a bone in the pose palette, in this order; each is one vec4 but the matrix.

    Attributes:
        rotation: the unit quaternion of the rigid part.
        matrix: the first three rows of D.
    """

    rotation: bool = False
    dual: bool = False
    matrix: bool = False

    @property
    def stride(self) -> int:
        """The number of vec4 of a bone."""
        return self.rotation + self.dual + 3 * self.matrix

    @property
    def places(self) -> dict[str, str]:
        """The places of the parts of a bone that shaders find by name; the rotation is first."""
        places = {"PALETTE_STRIDE": str(self.stride)}
        if self.dual:
            places["PALETTE_DUAL"] = str(int(self.rotation))
        if self.matrix:
            places["PALETTE_MATRIX"] = str(self.rotation + self.dual)
        return places

    def __or__(self, other: PosePaletteLayout) -> PosePaletteLayout:
        """The parts of both."""
        return PosePaletteLayout(
            self.rotation or other.rotation, self.dual or other.dual, self.matrix or other.matrix
        )

    def with_scales(self) -> PosePaletteLayout:
        """The same with the scales of bones, which a dual quaternion cannot represent."""
        return replace(self, dual=False, matrix=True) if self.dual else self


JOINT_STRIDE = 6
"""The number of vec4 of a joint, posed and at rest, see `measured_compensation.glsl`."""


@dataclass(frozen=True)
class KernelTraits:
    """The source of a kernel, and its input beside rest positions and influences.

    Attributes:
        source: its file, without the suffix.
        palette: what it needs of each bone.
        samplers, constants: the textures and integers that it reads, by name.
        defines: for the compiler.
        scales: whether it has another way for bones with a scale, which SCALED chooses.
    """

    source: str
    palette: PosePaletteLayout
    samplers: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    scales: bool = True


# What a kernel reads where joints swing vertices, see `swings.glsl`.
SWING_SAMPLERS = ("swings", "swing_joints")
SWING_DEFINES = {"SWINGS": str(SWINGS)}
# What one reads where twists of limbs are spread, see `twists.glsl`.
TWIST_SAMPLERS = ("twists", "twist_limbs")
TWIST_DEFINES = {"TURNS": str(TURNS)}

_RIGID = PosePaletteLayout(rotation=True, dual=True)
KERNELS: dict[Kernel, KernelTraits] = {
    "LINEAR": KernelTraits("skin_linear", PosePaletteLayout(matrix=True), scales=False),
    "DUAL_QUATERNION": KernelTraits("skin_dual_quaternion", _RIGID),
    "PUBLISHED": KernelTraits(
        "skin_dual_quaternion", _RIGID, ("amounts", "limbs"), ("COMPENSATE",)
    ),
    "MEASURED": KernelTraits(
        "skin_dual_quaternion", _RIGID, ("amounts", "joints"), ("MEASURE",), ("joint_count",)
    ),
    "SPHERICAL_JOINT": KernelTraits(
        "skin_spherical_joint",
        PosePaletteLayout(rotation=True, matrix=True),
        ("joint_of_vertex", "centres"),
        constants=("set_count",),
    ),
}


def kernel_of(deformation: Deformation) -> Kernel:
    """The kernel of a method; where compensation does not act, that of dual quaternions."""
    if deformation.method != "COMPENSATED":
        return deformation.method
    if deformation.factor == 0.0:
        return "DUAL_QUATERNION"
    return "MEASURED" if isinstance(deformation.compensation, MeasuredJoints) else "PUBLISHED"


def swings_of(deformation: Deformation) -> SwingJoints | None:
    """The joints whose swings the kernel of a deformation takes along chords; None without any."""
    if kernel_of(deformation) != "MEASURED" or deformation.compensation is None:
        return None
    swings = deformation.compensation.swings
    return swings if swings is not None and swings.acts else None


def twists_of(deformation: Deformation) -> TwistLimbs | None:
    """The limbs whose twists the kernel of a deformation spreads; None without any."""
    limbs = deformation.twist_limbs if deformation.method == "COMPENSATED" else None
    return limbs if limbs is not None and deformation.twist_spread and len(limbs.rows) else None


def wanted_layout(deformation: Deformation) -> PosePaletteLayout:
    """The parts of a pose without scale that a deformation reads.

    The same object each time for the same kernel.
    """
    return _layout_of(kernel_of(deformation), deformation.blend is not None)


@cache
def _layout_of(kernel: Kernel, blended: bool) -> PosePaletteLayout:
    layout = KERNELS[kernel].palette
    layout = layout.with_scales() if blended else layout
    # Joints are posed by dual quaternions where there are no matrices.
    return replace(layout, rotation=True)
