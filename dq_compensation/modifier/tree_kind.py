"""Which tree a mesh needs: trees are shared by all meshes that need the same."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.deform import Method
from ..scene.binding import Binding
from ..scene.evaluation import Settings, acting_blend_group

# Bump it when trees of older versions of the add-on have to be built anew.
TREE_VERSION = 2

# With fewer vertices for each set of bones, what sets take up outweighs what they save. Small
# meshes are quick either way.
_VERTICES_PER_SET = 3


@dataclass(frozen=True)
class TreeKind:
    """What a tree is built for; meshes of one kind share one tree.

    Attributes:
        method: how bones are blended.
        slots: how many influences it can blend: 4, 7, 10, ...
        masked: whether the Armature modifier is limited to a vertex group.
        scattered: whether so few vertices share a set of bones that sets save nothing.
        measured: whether COMPENSATED is MEASURED.
        shaped: whether shape keys change what is measured.
        blended: whether a vertex group blends to LINEAR.
    """

    method: Method
    slots: int
    masked: bool
    scattered: bool = False
    measured: bool = False
    shaped: bool = False
    blended: bool = False

    @property
    def key(self) -> str:
        """What the tree remembers of itself."""
        names = ("masked", "scattered", "measured", "shaped", "blended")
        options = "".join(f" {name}" for name in names if getattr(self, name))
        return f"{TREE_VERSION} {self.method} {self.slots}{options}"

    @property
    def tree_name(self) -> str:
        """What the user sees."""
        method = self.method.replace("_", " ").title()
        return f"DQ Compensation: {method}"


def kind_for(binding: Binding, settings: Settings, *, masked: bool, sets: int) -> TreeKind:
    """The kind of tree that deforms a bound mesh with that many sets of bones."""
    has_direct_way = settings.method in {"DUAL_QUATERNION", "COMPENSATED"}
    scattered = has_direct_way and _VERTICES_PER_SET * sets > binding.vertex_count
    measured = settings.method == "COMPENSATED" and settings.curve == "MEASURED"
    return TreeKind(
        settings.method,
        slots_for(binding.influences.width),
        masked,
        scattered,
        measured,
        shaped=measured and binding.shape_keys is not None,
        blended=bool(acting_blend_group(binding, settings)),
    )


def slots_for(influences: int) -> int:
    """The slots of a tree that blends that many influences: three per vector of weights and one."""
    return 3 * max(1, -(-(influences - 1) // 3)) + 1
