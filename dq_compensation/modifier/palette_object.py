"""The palette object: a mesh that an ordinary Armature modifier poses, for node trees to read.

Its points are the posed bones (`palette_points`). A node modifier of its own, after its Armature
modifier, makes of them what does not depend on a mesh: the bones' quaternions, and the joints and
pairs of bones that meshes have asked for (`PaletteTables`).

The palette is in no collection. A modifier that refers to it is enough to have it evaluated and
saved with the file. Its Armature modifier says whose it is: a custom property that names the
armature would keep a deleted armature alive.

The node tree of palette objects: what depends on the pose alone, once per armature and frame.

From the palette's posed points it makes a cloud with one point per row, on which the trees of
meshes find the bones (`bone_nodes`), and what meshes have asked for in `PaletteTables`: joints
with a limb or a swing, limbs that twist (`measured_nodes`) and pairs of bones (`vertex_nodes`). A
mesh then takes one *Sample Index* for a joint or a pair. What no mesh reads is not computed.

A *Sample Index* from a cloud of points takes a third of the time that it takes from a mesh.

Where no bone is scaled or bendy and no joint comes apart, that takes a few nodes: they are asked
first, in each frame. Joints are made of points, never of matrices, which take longer.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection
from dataclasses import dataclass, fields
from functools import partial, reduce
from operator import add
from typing import Any, Literal, cast

import bpy
import numpy as np

from ..scene.binding.binding import Binding
from ..scene.binding.facts import digest
from ..scene.blender.armature import armature_of
from ..scene.blender.mesh import mesh_of
from ..scene.blender.own_objects import (
    PALETTE_PROPERTY,
    is_palette,
    is_placed_at,
    new_hidden,
    place_at,
)
from ..scene.stack import record_of_tree
from ..session.changes import remember_new
from .attribute_names import JOINT_ROWS, PALETTE_LENGTH, POSED_PAIR
from .modifier_inputs import set_inputs
from .nodes.bone_nodes import (
    bone_matrices,
    bone_turns,
    state_of,
    stretched_edges,
    with_bones,
    with_growth,
    with_rigid_parts,
    with_straightness,
    with_turns_of_bones,
)
from .nodes.measured_nodes import rigid_limbs, with_bendy_limbs, with_limbs, with_posed
from .nodes.node_values import Cloud, Geometry, Scalar, TreeBuilder, grouped
from .nodes.own_trees import (
    KEY,
    TreeInput,
    ensure_tree,
    in_one_group,
    is_unedited,
    new_modifier_tree,
    use_tree,
)
from .nodes.vertex_nodes import pair_offset
from .palette_points import (
    COUNTS_PROPERTY,
    PALETTE_ATTRIBUTES,
    POINTS_OF_JOINT,
    SHORTENED,
    BoneGroup,
    PaletteTables,
    bone_groups,
    groups_for,
    write_bones,
    write_joints,
)
from .tree_kind import READS, TREE_VERSION


@dataclass(frozen=True)
class PaletteKind:
    """The needs of the meshes of a palette. Palettes of one kind share a tree.

    Attributes:
        bendy: whether there are bendy bones.
        bones: whether trees of meshes read the bones themselves.
        turns: whether they read the rotations of bones.
        sizes: whether they read how large bones are.
        joints: whether they read joints.
        asides: whether any of these has a limb that points aside, which may turn.
        swings: whether any of these swings.
        twists: whether any of these is of a limb that twists.
        pairs: whether they read pairs of bones.
    """

    bendy: bool = False
    bones: bool = False
    turns: bool = False
    sizes: bool = False
    joints: bool = False
    asides: bool = False
    swings: bool = False
    twists: bool = False
    pairs: bool = False

    @property
    def key(self) -> str:
        """The key that is stored in the tree."""
        options = "".join(f" {field.name}" for field in fields(self) if getattr(self, field.name))
        return f"{TREE_VERSION} palette{options}"


_INPUTS = (
    TreeInput("Points", "Int", 1, True, "How many it shows: as many as the longest table needs"),
    TreeInput("Bone Rows", "Int", 1, True, "How many rows the bones have"),
    TreeInput("Length", "Float", 1.0, True, "How far the points of the axes are from the origin"),
)


def _build_palette_tree(kind: PaletteKind) -> bpy.types.NodeTree:
    """A new tree."""
    name = "DQ Compensation: Palette"
    group = new_modifier_tree(f".{name}", _INPUTS)
    build = TreeBuilder(group)
    parts = _Assembly(build, kind)
    shown = parts.shown()
    if kind.asides or kind.swings or kind.twists:
        made = {"turns": kind.asides, "swings": kind.swings, "twists": kind.twists}
        shown = with_posed(build, parts.palette, shown, **made)
    build.node("NodeGroupOutput", shown)
    return in_one_group(group, name, _INPUTS)


class _Assembly:
    """Puts the parts together.

    Attributes:
        b: adds the nodes.
        palette: the points, as the Armature modifier leaves them.
        points, bone_rows, length: the inputs.
    """

    def __init__(self, build: TreeBuilder, kind: PaletteKind) -> None:
        self.b = build
        self.kind = kind
        outputs = build.node("NodeGroupInput").outputs
        self.palette = Geometry(build, outputs["Geometry"])
        self.points, self.bone_rows, self.length = (
            Scalar(build, outputs[each.name]) for each in _INPUTS
        )

    def shown(self) -> Geometry:
        """The points with what meshes read of them, swings and twists apart."""
        build, kind, palette, length = self.b, self.kind, self.palette, self.length
        doubts: list[Scalar] = []
        if not kind.joints:
            quick = exact = build.points(self.points, state_of(build, length))
        elif kind.bendy:
            of_limbs = (palette, build.points(self.points), self.bone_rows)
            quick = exact = grouped(build, "DQ Compensation joints", with_bendy_limbs, *of_limbs)
        else:
            doubts.append(stretched_edges(build, palette, length))
            quick = build.points(self.points, rigid_limbs(build, palette, length))
            of_limbs = (palette, build.points(self.points), length)
            exact = grouped(build, "DQ Compensation joints", with_limbs, *of_limbs)
        if kind.bones or (kind.bendy and (kind.pairs or kind.turns)):
            chosen = build.choose(doubts[0], quick, exact) if doubts else exact
            return self._of_any_bones(chosen)
        if kind.pairs or kind.turns:
            part = partial(bone_turns, stretches_seen=kind.joints)
            of_bones = (palette, self.bone_rows, length)
            turned = grouped(build, "DQ Compensation bone turns", part, *of_bones)
            doubts.append(turned.geometry.statistic(turned.fields["scaled"], "Max"))
            quick, exact = self._with_turns(quick, turned), self._of_any_bones(exact)
        return build.choose(reduce(add, doubts), quick, exact) if doubts else quick

    def _of_any_bones(self, cloud: Geometry) -> Geometry:
        """The points with what meshes read of bones, which may be scaled or bendy.

        Args:
            cloud: the points, with what meshes read of joints.
        """
        build, kind, palette, length = self.b, self.kind, self.palette, self.length
        last = self.bone_rows - 1.0
        part = partial(bone_matrices, bendy=kind.bendy)
        bones = grouped(build, "DQ Compensation bones", part, palette, cloud, last, length)
        any_scaled = bones.geometry.statistic(bones.fields["scaled"], "Max") > 0.5
        of_bones = (palette, bones, any_scaled, last)
        bones = grouped(build, "DQ Compensation rigid parts", with_rigid_parts, *of_bones)
        if kind.bendy and kind.pairs:
            bones = grouped(build, "DQ Compensation bendy bones", with_straightness, palette, bones)
        shown = bones.geometry
        if kind.bones:
            named = Cloud(shown, bones.fields)
            shown = grouped(build, "DQ Compensation dual quaternions", with_bones, named)
        if kind.pairs or kind.turns:
            turned = bones.geometry.capture({"turn": bones.fields["rigid"].rotation()})
            known = turned.fields
            if "straight" in bones.fields:
                known = {**known, "straight": bones.fields["straight"]}
            shown = self._with_turns(shown, Cloud(turned.geometry, known))
        if kind.sizes:
            grown = grouped(build, "DQ Compensation sizes", with_growth, shown, bones)
            shown = build.choose(any_scaled, shown, grown)
        return shown

    def _with_turns(self, shown: Geometry, turned: Cloud) -> Geometry:
        """Points with what is read of rotations of bones, and how `straight` bendy ones are."""
        if self.kind.turns:
            shown = with_turns_of_bones(self.b, shown, turned)
        if not self.kind.pairs:
            return shown
        offset = grouped(self.b, "DQ Compensation pairs", pair_offset, self.palette, turned)
        return shown.store(POSED_PAIR, offset)


# Custom properties: of the palette object the digests of `_signature`, the names of its bones, and
# the digest of what was made for it; of its mesh the edition of its tables.
_SIGNATURE_PROPERTY = "dq_compensation_palette_state"
NAMES_PROPERTY = "dq_compensation_palette_bones"
_MADE_PROPERTY = "dq_compensation_palette_made"
_EDITION_PROPERTY = "dq_compensation_palette_edition"

_NODES_NAME = "DQ Compensation"

_SHOWN: dict[str, object] = {"show_viewport": True, "show_render": True}
_MODIFIER: dict[str, object] = _SHOWN | {
    "use_vertex_groups": True,
    "use_bone_envelopes": False,
    "use_deform_preserve_volume": False,
    "vertex_group": "",
}


def find_palette(armature: bpy.types.Object) -> bpy.types.Object | None:
    """The palette object of an armature in this file; None without one.

    Linked palettes and overrides of palettes do not count: their tables are in a linked mesh.
    """
    palettes = (obj for obj in bpy.data.objects if armature_of_palette(obj) == armature)
    return next((each for each in palettes if mesh_of(each).library is None), None)


def armature_of_palette(palette: bpy.types.Object) -> bpy.types.Object | None:
    """The armature object that poses a palette; None for other objects and when it is deleted."""
    modifier = _modifier_of(palette, "ARMATURE") if is_palette(palette) else None
    return modifier.object if modifier is not None else None


def own_palettes() -> list[bpy.types.Object]:
    """The palettes of this file."""
    return [obj for obj in bpy.data.objects if obj.library is None and is_palette(obj)]


def is_intact(palette: bpy.types.Object, armature: bpy.types.Object) -> bool:
    """Whether a palette object is unchanged: in its place, posed by its armature; cheap.

    Its points and its node modifier have to be those of this version. In a library they are as the
    version of the add-on left them that saved it.
    """
    modifier, nodes = _modifier_of(palette, "ARMATURE"), _modifier_of(palette, "NODES")
    if (
        palette.type != "MESH"
        or modifier is None
        or not is_placed_at(palette, armature, PALETTE_PROPERTY)
        or _differing(modifier, _MODIFIER | {"object": armature})
    ):
        return False
    tables = PaletteTables(mesh_of(palette))
    mesh = tables.mesh
    if mesh.library is not None:
        return True
    attributes = {each.name: (each.data_type, each.domain) for each in mesh.attributes}
    if (
        not tables.counts[0]
        or len(mesh.vertices) != tables.point_count
        or not PALETTE_ATTRIBUTES.items() <= attributes.items()
        or nodes is None
        or _differing(nodes, _SHOWN)
        or nodes != palette.modifiers[-1]
    ):
        return False
    tree = nodes.node_group
    key = None if tree is None else record_of_tree(tree).get(KEY)
    if palette.get(_MADE_PROPERTY) != _digest_of_made(palette, tables, key):
        return False
    return tree is None or (key is not None and is_unedited(tree, key))


def _digest_of_made(palette: bpy.types.Object, tables: PaletteTables, key: str | None) -> str:
    """The digest of what was made for a palette: tables in its mesh, and a tree with a key.

    An undo may read one of them as it was, and keep the other in memory as it is.
    """
    counts = tables.counts.tolist(), len(palette.vertex_groups)
    return digest(TREE_VERSION, edition_of(palette), counts, key)


def edition_of(palette: bpy.types.Object | None) -> str | None:
    """The edition of a palette's tables; None without a palette."""
    mesh = palette.data if palette is not None else None
    return mesh.get(_EDITION_PROPERTY) if mesh is not None else None


def ensure_palette(
    armature: bpy.types.Object,
    binding: Binding,
    also: frozenset[str] = frozenset(),
    whole: frozenset[str] = frozenset(),
    known: bpy.types.Object | None = None,
) -> bpy.types.Object:
    """The palette of an armature object, made or brought up to date; shared by all its meshes.

    While the bones at rest stay the same, they keep their rows, and new ones get new rows: meshes
    that were bound earlier stay right. When they have changed, everything starts anew.
    `compute_what_is_read` has to follow.

    Args:
        binding: of one of its meshes, as it is now: it has the bones at rest.
        also: bones to have besides those that deform.
        whole: bones to have as one straight bone, bendy or not.
        known: this one, which was found to be unchanged, as the bones at rest were.
    """
    palette, skeleton = known or find_palette(armature), binding.skeleton
    kept: list[BoneGroup] = []
    if palette is None:
        palette = new_hidden(f"DQ Compensation palette: {armature.name}", PALETTE_PROPERTY)
        remember_new(palette)
    elif known is not None:
        kept = bone_groups(palette)
    else:
        groups, written = bone_groups(palette), str(palette.get(_SIGNATURE_PROPERTY)).split()
        now = _signature(groups, binding)
        if not set(written).isdisjoint(now) and is_intact(palette, armature):
            kept = groups
        if kept and now[1] in written and now[0] not in written:
            palette[_SIGNATURE_PROPERTY] = " ".join(now)  # bones were renamed
    new = [group for group in groups_for(armature, skeleton, also, whole) if group not in kept]
    if kept and not new:
        return palette
    _tie(palette, armature)
    if not kept:
        mesh = mesh_of(palette)
        mesh.clear_geometry()
        mesh.pop(COUNTS_PROPERTY, None)
        mesh[_EDITION_PROPERTY] = secrets.token_hex(8)
    write_bones(palette, armature, kept + new, skeleton)
    nodes = _modifier_of(palette, "NODES")
    if nodes is None:
        nodes = cast("Any", palette.modifiers.new(_NODES_NAME, "NODES"))
    for name, value in _SHOWN.items():
        setattr(nodes, name, value)
    last = len(palette.modifiers) - 1
    palette.modifiers.move(list(palette.modifiers).index(nodes), last)
    palette[_SIGNATURE_PROPERTY] = " ".join(_signature(bone_groups(palette), binding))
    remember_names(palette)
    return palette


def _signature(groups: list[BoneGroup], binding: Binding) -> tuple[str, str]:
    """The digest of the bones with their names, and the digest of bones and groups by places.

    While an armature is in Edit Mode, groups have the new names of bones already, and the bones
    themselves have their old names.
    """
    place = {name: index for index, name in enumerate(binding.skeleton.names)}
    bones = [place.get(name) for name, _ in groups]
    return binding.structure["bones"], digest(binding.bones_at_rest, bones)


def compute_what_is_read(palette: bpy.types.Object, reads: Collection[str]) -> None:
    """Let the node tree of a palette compute what meshes have asked for, and `reads` of bones."""
    nodes, tables = _modifier_of(palette, "NODES"), PaletteTables(mesh_of(palette))
    assert nodes is not None
    key = record_of_tree(nodes.node_group).get(KEY)
    is_made = palette.get(_MADE_PROPERTY) == _digest_of_made(palette, tables, key)
    if is_made and set(reads) == set(str(key).split()) & READS:
        return
    write_joints(palette)
    kind = _kind_for(tables, reads)
    tree = None
    if kind is not None:
        build = partial(_build_palette_tree, kind)
        tree = ensure_tree(kind.key, build, {"role": "POSES"}, nodes.node_group)
    use_tree(nodes, tree)
    palette[_MADE_PROPERTY] = _digest_of_made(palette, tables, None if kind is None else kind.key)
    if kind is None:
        return
    bone_rows, joints, pairs = tables.counts.tolist()
    values: dict[str, object] = {
        "Points": max(bone_rows, POINTS_OF_JOINT * (joints + 1), pairs),
        "Bone Rows": bone_rows,
        "Length": float(tables.points(PALETTE_LENGTH)[0]),
    }
    if set_inputs(nodes, values):
        palette.update_tag()


def _kind_for(tables: PaletteTables, reads: Collection[str]) -> PaletteKind | None:
    """The kind of tree that a palette needs for its tables; None where nobody reads anything."""
    _, joints, pairs = tables.counts.tolist()
    if not (reads or joints or pairs):
        return None
    rows = tables.rows(JOINT_ROWS)
    # Those of turns, of swings and of limbs that twist name no limb of the parent, those of swings
    # no limb of the child: they are not measured across any.
    of_parent, of_child = rows[:, 12:15].any(axis=1), rows[:, 8:11].any(axis=1)
    turns = ~of_parent & (np.linalg.norm(rows[:, 8:11], axis=1) < SHORTENED)
    return PaletteKind(
        bendy=tables.bendy,
        bones="bones" in reads,
        turns="turns" in reads,
        sizes="sizes" in reads,
        joints=joints > 0,
        asides=bool((turns & of_child).any()),
        swings=bool((turns & ~of_child).any()),
        twists=bool((~of_parent & ~turns).any()),
        pairs=pairs > 0,
    )


def computed_for(palette: bpy.types.Object) -> set[str]:
    """What the tree of a palette computes of bones, for meshes that read it."""
    nodes = _modifier_of(palette, "NODES")
    tree = nodes.node_group if nodes is not None else None
    words = set(str(record_of_tree(tree).get(KEY)).split())
    return words & READS


def remember_names(palette: bpy.types.Object) -> None:
    """Remember the names of a palette's bones, so that `renamed_bones` knows them again."""
    names = dict.fromkeys(name for name, _ in bone_groups(palette))
    palette[NAMES_PROPERTY] = json.dumps(list(names))


def renamed_bones(palette: bpy.types.Object, armature: bpy.types.Object) -> dict[str, str]:
    """The new names of bones since a palette was written, by the old ones.

    Blender renames the groups and hooks of a palette with the bones. Bones that are renamed in Edit
    Mode count when it is left.
    """
    try:
        before = json.loads(str(palette.get(NAMES_PROPERTY)))
    except ValueError:
        before = None  # it is missing or damaged
    now = dict.fromkeys(name for name, _ in bone_groups(palette))
    data = armature_of(armature)
    if not isinstance(before, list) or len(before) != len(now) or data.is_editmode:
        return {}
    pairs = zip(map(str, before), now, strict=True)
    return {old: new for old, new in pairs if old != new and new in data.bones}


def nodes_of_palette(palette: bpy.types.Object) -> bpy.types.NodesModifier | None:
    """The node modifier of a palette; None without one."""
    return _modifier_of(palette, "NODES")


def _modifier_of(palette: bpy.types.Object, kind: Literal["ARMATURE", "NODES"]) -> Any:
    """The first modifier of a palette with this type; None without one."""
    return next((each for each in palette.modifiers if each.type == kind), None)


def _tie(palette: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Put a palette object at its armature, and let the armature pose it."""
    place_at(palette, armature, PALETTE_PROPERTY)
    modifier = _modifier_of(palette, "ARMATURE")
    if modifier is None:
        modifier = cast("Any", palette.modifiers.new("Armature", "ARMATURE"))
    modifier.object = armature
    for name, value in _MODIFIER.items():
        setattr(modifier, name, value)


def _differing(owner: object, wanted: dict[str, object]) -> bool:
    """Whether a setting of a palette's modifier has another value than it needs."""
    return any(getattr(owner, name) != value for name, value in wanted.items())
