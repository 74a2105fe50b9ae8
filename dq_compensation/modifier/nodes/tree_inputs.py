"""The inputs of the trees of meshes."""

from __future__ import annotations

from ..tree_kind import TreeKind
from .own_trees import TreeInput

# Each costs 2 microseconds per mesh and frame: a tree has those that it reads.
_INPUTS = (
    TreeInput("Palette", "Object", None, True, "The posed bones, as points"),
    TreeInput("Factor", "Float", 1.0, False, "How much of the compensation acts"),
    TreeInput("Vertex Group", "String", "", False, "Weights that scale the compensation"),
    TreeInput("Mask", "String", "", True, "The vertex group of the Armature modifier"),
    TreeInput("Invert Mask", "Bool", False, True, "Whether the mask acts the other way round"),
    TreeInput("Vertices", "Int", 0, True, "How many the mesh had when its weights were written"),
    TreeInput("Sets", "Int", 1, True, "How many sets of bones there are"),
    TreeInput("Blend Group", "String", "", False, "Weights that blend from linear to the method"),
    TreeInput("In Viewport", "Bool", True, True, "Whether the Armature modifier is on there"),
    TreeInput("In Renders", "Bool", True, True, "Whether the Armature modifier is on there"),
    TreeInput("Attributes", "Object", None, True, "Has the attributes that the mesh itself lacks"),
)


def inputs_of(kind: TreeKind) -> list[TreeInput]:
    """The inputs that a tree of that kind reads.

    By its palette every object knows bones again that were renamed.
    """
    compensated = kind.method == "COMPENSATED"
    read = {
        "Palette": True,
        "Factor": compensated,
        "Vertex Group": kind.painted,
        "Mask": kind.masked,
        "Invert Mask": kind.masked,
        "Vertices": not kind.sampled and not kind.lets_pass,
        "Sets": kind.base == "OWN",
        "Blend Group": kind.blended,
        "In Viewport": kind.switched,
        "In Renders": kind.switched,
        "Attributes": kind.sampled,
    }
    return [each for each in _INPUTS if read[each.name]]
