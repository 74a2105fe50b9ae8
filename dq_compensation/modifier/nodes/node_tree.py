"""Builds the Geometry Nodes tree of the modifier display.

A tree has one of three bases (`tree_kind.Base`). ARMATURE and SOFT: an Armature modifier,
that of the object or that of its soft copy, deforms the vertices, and the tree adds the
compensation, or lets the vertices pass. OWN: the tree skins the mesh itself, in three stages. Each
works on fewer points than there are vertices for as long as possible:

1. *Bones*, *joints* and *pairs* of bones: once per armature, by the palette's own tree
   (`palette_object`), for all its meshes.
2. *Sets* (`vertex_nodes`): vertices share their bones with hundreds of others. What
   depends on the bones alone (signs, weighted sums as matrices, the centre of a joint) is computed
   once for each distinct set.
3. *Vertices* (`vertex_nodes`): fetch by set, multiply with the weights, rotate and move.

What stage 2 cannot say for a set (scaled bones; signs that depend on the weights, which
takes bones turned by more than half a turn against each other) goes bone by bone. Switches of
geometry choose: what is not chosen is not computed. So does a switch for objects that stand where
their armature stands, which saves two transformations.

What nodes cost is in `docs/measurements.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property, partial, reduce
from typing import Any

import bpy

from ...scene.binding.soft_copy import REST, STEPS
from ..attribute_names import (
    AMOUNT,
    ARRIVING,
    LINEAR,
    LINEAR_COPY,
    MISFIT,
    OF_EVALUATED,
    OF_PALETTE,
    PAIR,
    POSED_PAIR,
    PREFIX,
    SET,
    SOFT_COPY,
    SOFT_SHARE,
    SOLVED_INPUT,
    SWING_AMOUNT,
    TURN_LIMB,
    UNMOVED,
    numbered,
)
from ..palette_points import OFF_ALL_AXES
from ..tree_kind import SolvedCounts, TreeKind
from .bone_nodes import palette_state, posed_bones, with_examples
from .measured_nodes import along_limbs, back_to_limb, onto_chords
from .node_values import (
    KINDS,
    Cloud,
    Field,
    Geometry,
    Integer,
    Matrix,
    Scalar,
    Socket,
    TreeBuilder,
    Vector,
    grouped,
)
from .own_trees import (
    TreeInput,
    in_one_group,
    new_modifier_tree,
)
from .solved_nodes import with_solved_shapes
from .vertex_nodes import (
    Vertices,
    blended_by_bones,
    blended_by_sets,
    dual_quaternion_sets,
    joint_set_cloud,
    linear_blend,
    linear_blend_by_sets,
    turned_by_bones,
    turned_by_sets,
)

# With smaller weights of a mask, what it lets through cannot be made whole again in 32 bits.
_LEAST_MASK = 1e-4

# Each costs 2 microseconds per mesh and frame: a tree has those that it reads.
_INPUTS = (
    TreeInput("Palette", "Object", None, True, "The posed bones, as points"),
    TreeInput("Factor", "Float", 1.0, False, "How much of the compensation acts"),
    TreeInput("Twist Spread", "Float", 0.0, False, "How much of twists is spread along limbs"),
    TreeInput("Vertex Group", "String", "", False, "Weights that scale the compensation"),
    TreeInput("Mask", "String", "", True, "The vertex group of the Armature modifier"),
    TreeInput("Invert Mask", "Bool", False, True, "Whether the mask acts the other way round"),
    TreeInput("Vertices", "Int", 0, True, "How many the mesh had when its weights were written"),
    TreeInput("Sets", "Int", 1, True, "How many sets of bones there are"),
    TreeInput("Blend Group", "String", "", False, "Weights that blend from linear to the method"),
    TreeInput("In Viewport", "Bool", True, True, "Whether the Armature modifier is on there"),
    TreeInput("In Renders", "Bool", True, True, "Whether the Armature modifier is on there"),
    TreeInput(SOFT_COPY, "Object", None, True, "Has the soft weights, and is posed by them"),
    TreeInput(SOFT_SHARE, "Float", 1.0, True, "How far vertices go to the soft copy"),
    TreeInput(LINEAR_COPY, "Object", None, True, "The same without Preserve Volume"),
    TreeInput(SOLVED_INPUT, "Object", None, True, "Has tables and offsets of solved shapes"),
    TreeInput("Step", "Float", 0.0, True, "How far apart the points of the soft copy are"),
    TreeInput("Attributes", "Object", None, True, "Has the attributes that the mesh itself lacks"),
)


def _inputs_of(kind: TreeKind) -> list[TreeInput]:
    """The inputs of a tree of this kind.

    By its palette every object knows bones again that were renamed.
    """
    compensated = kind.method == "COMPENSATED"
    read = {
        "Palette": True,
        "Factor": compensated,
        "Twist Spread": kind.turns > 0,
        "Vertex Group": kind.painted,
        "Mask": kind.masked,
        "Invert Mask": kind.masked,
        "Vertices": not kind.sampled and (not kind.lets_pass or kind.examples is not None),
        "Sets": kind.base == "OWN",
        "Blend Group": kind.blended,
        "In Viewport": kind.switched,
        "In Renders": kind.switched,
        SOFT_COPY: kind.base == "SOFT",
        SOFT_SHARE: kind.blends_softness,
        LINEAR_COPY: kind.base == "SOFT" and kind.blended,
        SOLVED_INPUT: kind.solved is not None,
        "Step": kind.stepped,
        "Attributes": kind.sampled,
    }
    return [each for each in _INPUTS if read[each.name]]


def build_tree(kind: TreeKind) -> bpy.types.NodeTree:
    """A new tree."""
    inputs, method = _inputs_of(kind), kind.method.replace("_", " ").title()
    name = f"DQ Compensation: {method}{' by Example' if kind.examples else ''}"
    if kind.lets_pass:
        tree = new_modifier_tree(name, inputs)
        build = TreeBuilder(tree)
        build.node("NodeGroupOutput", Socket(build, build.node("NodeGroupInput").outputs[0]))
    else:
        group = new_modifier_tree(f".{name}", inputs)
        build = TreeBuilder(group)
        build.node("NodeGroupOutput", _Assembly(build, kind, inputs).shown())
        tree = in_one_group(group, name, inputs)
    return tree


def _attributes_read(tree: bpy.types.NodeTree) -> dict[str, type[Field]]:
    """The attributes of vertices that a tree and the groups in it read, by their names."""
    found: dict[str, type[Field]] = {}
    nodes: list[Any] = list(tree.nodes)
    for node in nodes:
        if node.type == "GROUP":
            found |= _attributes_read(node.node_tree)
        elif node.bl_idname == "GeometryNodeInputNamedAttribute":
            name = node.inputs["Name"].default_value
            if name.startswith(PREFIX) and name not in OF_PALETTE | OF_EVALUATED:
                found[name] = KINDS[node.data_type]
    return found


# What the offsets of the compensation are made of, as attributes of an assembly.
_READ_ELSEWHERE = (
    *("mesh", "palette", "state", "to_object"),
    *("base_place", "place", "arriving_shape", "mask"),
)

# From rest position to deformed position, both in armature space.
Motion = Callable[[Vector], Vector]
# From where a vertex was and is to where it should be.
Finish = Callable[[Vector, Vector], Vector]


# The square of a share's distance from 1.
_LEAST_BLEND = 1e-9


class _Assembly:
    """Puts the parts together: bones, then sets, then vertices."""

    def __init__(self, build: TreeBuilder, kind: TreeKind, inputs: list[TreeInput]) -> None:
        self.b = build
        self.kind = kind
        outputs = build.node("NodeGroupInput").outputs
        self.arriving = self.mesh = Geometry(build, outputs["Geometry"])
        self.inputs = {each.name: Scalar(build, outputs[each.name]) for each in inputs}
        self.mask: Scalar | None = None

    @cached_property
    def bones(self) -> Cloud:
        """The posed bones."""
        return posed_bones(self.b, self.palette)

    @cached_property
    def _reach(self) -> tuple[Scalar, Scalar, Scalar]:
        """How far the skeleton reaches, and how far that point is off its axis, as x and y."""
        return self.state.components()

    @cached_property
    def to_armature(self) -> Matrix:
        """From object space."""
        return self.to_object.inverted()

    def shown(self) -> Geometry:
        """The deformed mesh; all nodes but the output of the group."""
        build, inputs = self.b, self.inputs
        read = build.node("GeometryNodeObjectInfo", inputs["Palette"], transform_space="ORIGINAL")
        placed = build.node("GeometryNodeObjectInfo", inputs["Palette"], transform_space="RELATIVE")
        self.palette = Geometry(build, read.outputs["Geometry"]).points_alone()
        self.state = palette_state(build, self.palette)
        self.to_object = Matrix(build, placed.outputs["Transform"])
        examples, base = self.kind.examples, self.kind.base
        if examples is not None and base != "ARMATURE":
            part = partial(with_examples, counts=examples)
            of_mesh = self.mesh, self.mesh, self.palette
            self.mesh = grouped(build, "DQ Compensation examples", part, *of_mesh)
        # Where the base takes the vertices, before the first *Set Position* of the tree; and where
        # they are after any, without the mask.
        self.base_place = self._place_by_soft_copy() if base == "SOFT" else build.position
        self.place = build.position
        if self.kind.unmasks:
            self.base_place = self.place = self._unmasked()

        deformed = getattr(self, f"_{self.kind.method.lower()}")()
        if self.kind.solved is not None:
            deformed = self._with_solved_shapes(deformed, self.kind.solved)
        # Where other vertices arrive than the attributes were written for, they pass; the mark
        # lets Python see it.
        sampled = self.kind.sampled
        expected = self._copy_attributes().point_count() if sampled else inputs["Vertices"]
        count = self.arriving.point_count()
        misfit = self.arriving.store(MISFIT, count - expected)
        shown = build.choose(build.equal(count, expected), misfit, deformed)
        if not self.kind.switched:
            return shown
        # What is not deformed needs no compensation.
        viewport = Scalar(build, build.node("GeometryNodeIsViewport").outputs[0])
        base_is_on = build.choose(viewport, inputs["In Renders"], inputs["In Viewport"])
        arriving = self.arriving
        if examples is not None:
            unmoved, is_kept = build.found_attribute(UNMOVED, Vector)
            arriving = arriving.set_position(unmoved, is_kept)
        return build.choose(base_is_on, arriving, shown)

    def _with_solved_shapes(self, deformed: Geometry, counts: SolvedCounts) -> Geometry:
        """The mesh with solved shapes, as far as mask and blend let them through.

        Both are linear in what is added to the vertex, so that can be added behind them.
        """
        build, to_object, shares = self.b, self.to_object, list[Scalar]()
        if self.kind.method == "COMPENSATED":
            factor = self.inputs["Factor"]
            to_object = to_object @ build.diagonal((factor, factor, factor, 1.0))
            if self.kind.painted:
                shares.append(self._group("Vertex Group"))
        if self.kind.masked:
            shares.append(self._mask_weight())
        if self.kind.blended:
            shares.append(self._group("Blend Group"))
        read = build.node("GeometryNodeObjectInfo", self.inputs[SOLVED_INPUT])
        part = partial(with_solved_shapes, counts=counts)
        share = reduce(Scalar.__mul__, shares) if shares else None
        held = Geometry(build, read.outputs["Geometry"]).as_points()
        around = (deformed, held, (self.palette, to_object), share)
        return grouped(build, "DQ Compensation solved shapes", part, *around)

    def _place_by_soft_copy(self) -> Vector:
        """Where the soft copy's Armature modifier takes the vertices of the arriving mesh."""
        if self.kind.stepped or self.kind.shaped or self.kind.unmasks:
            known = self.mesh.capture({"arriving": self.b.position})
            self.mesh, self.arriving_shape = known.geometry, known.fields["arriving"]
        place = self._place_by(SOFT_COPY)
        if not self.kind.blends_softness:
            return place
        # Only while Softness is dragged, when the Armature modifier has posed what arrives.
        share, painted = self.inputs[SOFT_SHARE], self.b.position
        is_blended = (share - 1.0) * (share - 1.0) > _LEAST_BLEND
        return self.b.choose(is_blended, place, painted + (place - painted) * share)

    def _place_by(self, copy_input: str) -> Vector:
        """Where the Armature modifier of a copy with soft weights takes the arriving shape."""
        build = self.b
        read = build.node("GeometryNodeObjectInfo", self.inputs[copy_input])
        copy, start = Geometry(build, read.outputs["Geometry"]), build.position
        at_rest: Vector = copy.sample(start, build.index)
        moved = at_rest
        if self.kind.stepped:
            steps: Integer = copy.sample(build.attribute(STEPS, Integer), build.index)
            rest: Vector = copy.sample(build.attribute(REST, Vector), build.index)
            # A vertex without steps stays, where an edit has just begun to move it.
            shares = (self.arriving_shape - rest) * (steps.minimum(1.0) / self.inputs["Step"])
            for axis, share in enumerate(shares.components()):
                stepped: Vector = copy.sample(start, steps.plus(axis))
                moved = moved + (stepped - at_rest) * share
        return moved

    def _copy_attributes(self) -> Geometry:
        """Give the arriving mesh every attribute that the tree reads, before all other nodes.

        The points that they are copied from come back.
        """
        build, after = self.b, self.arriving.readers()
        read = build.node("GeometryNodeObjectInfo", self.inputs["Attributes"])
        points, copied = Geometry(build, read.outputs["Geometry"]), self.arriving
        for name, kind in sorted(_attributes_read(build.tree).items()):
            held = build.attribute(name, kind)
            copied = copied.store(name, points.sample(held, build.index))
        for socket in after:
            build.connect(socket, copied)
        return points

    def _unmasked(self) -> Vector:
        """Where the Armature modifier takes vertices without its vertex group.

        They stay where it takes them with the group, and offsets are masked, too: so this holds
        after each offset.
        """
        build, weight = self.b, self._mask_weight()
        if self.kind.base == "SOFT":
            self.arriving_place = self.arriving_shape
        else:
            self.arriving_place, is_kept = build.found_attribute(ARRIVING, Vector)
            weight = weight * is_kept
        known = self.mesh.capture({"weight": weight})
        self.mesh, self.mask = known.geometry, known.fields["weight"]
        if self.kind.base == "SOFT":
            self.mesh = self.mesh.set_position(self._as_masked(self.base_place))
        way = build.position - self.arriving_place
        return self.arriving_place + way * (1.0 / self.mask.maximum(_LEAST_MASK))

    def _as_masked(self, place: Vector) -> Vector:
        """Where the mask leaves vertices that go to a place; in object space."""
        if self.mask is None:
            return place
        return self.arriving_place + (place - self.arriving_place) * self.mask

    def _masked(self, moved: Vector) -> Vector:
        """Blend with the undeformed positions by the mask; in object space."""
        if not self.kind.masked:
            return moved
        start = self.b.position
        return start + (moved - start) * self._mask_weight()

    def _mask_weight(self) -> Scalar:
        """The weight of the Armature modifier's vertex group, or 1 - weight."""
        if self.mask is not None:
            return self.mask
        weight = self._group("Mask")
        return weight + self.inputs["Invert Mask"] * (1.0 - weight * 2.0)

    def _group(self, input_name: str) -> Scalar:
        """The weights of the vertex group that an input names; 1 where there is none."""
        weight, exists = self.b.found_attribute(self.inputs[input_name], Scalar)
        return self.b.choose(exists, 1.0, weight)

    @cached_property
    def _placed_together(self) -> Scalar:
        """Whether object space is armature space: then two transformations can be left out."""
        point = self.b.vector(*OFF_ALL_AXES) * self._reach[0]
        return self.to_object.transform_point(point).distance(point) < self._reach[0] * 1e-6

    @cached_property
    def _limb_states(self) -> Scalar:
        """Whether there is LIMB_STATE."""
        return self._reach[1] < self._reach[0] * 0.1

    @cached_property
    def _plain(self) -> Scalar:
        """Whether object space is armature space and there is no LIMB_STATE: few nodes serve."""
        moved = self.to_object.transform_point(self.state)
        return moved.distance(self.state) < self._reach[1] * 1e-6

    def _in_armature_space(self, place: Vector, *, plain: bool = False) -> Vector:
        """A place in object space."""
        if plain:
            return place
        there = self.to_armature.transform_point(place)
        return self.b.choose(self._placed_together, there, place)

    def _in_object_space(self, offset: Vector, *, plain: bool) -> Vector:
        """An offset in armature space, as far as the mask lets it through."""
        offset = offset if self.mask is None else offset * self.mask
        if plain:
            return offset
        turned = self.to_object.transform_direction(offset)
        return self.b.choose(self._placed_together, turned, offset)

    def _set_position(self, deform: Motion) -> Geometry:
        """Deform in armature space; when that is object space, without going there and back."""
        near = self._masked(deform(self.b.position))
        start = self.to_armature.transform_point(self.b.position)
        far = self._masked(self.to_object.transform_point(deform(start)))
        mesh = self.mesh
        together = self._placed_together
        return self.b.choose(together, mesh.set_position(far), mesh.set_position(near))

    def _add_offset(self, *, plain: bool) -> Geometry:
        """The deformed mesh with the offset of the compensation; a vertex without one stays exact.

        To leave out vertices without a joint saved nothing.
        """
        build, to_object, strength = self.b, self.to_object, self._offset_strength
        if self.kind.measured:
            rest = None
            if self.kind.shaped:
                if self.kind.base == "SOFT":
                    rest = self.arriving_shape
                else:
                    rest, is_kept = build.found_attribute(ARRIVING, Vector)
                    strength = is_kept * strength
                rest = self._in_armature_space(rest, plain=plain)
            moved = self._in_armature_space(self.base_place, plain=plain)
            offset = self._back_to_limb(strength, rest, moved, plain=plain)
            if self.kind.at_once:
                if self.kind.swung:
                    offset = offset + self._to_chords(moved + offset)
                if self.kind.turns:
                    offset = offset + self._turn(moved + offset)
            offset = self._in_object_space(offset, plain=plain)
        else:
            pair = build.attribute(POSED_PAIR, Vector)
            pair = pair if plain else to_object.transform_direction(pair)
            offset = self._pair_offset(pair, strength)
        if self.kind.base != "SOFT" or self.kind.unmasks:
            return self.mesh.moved_by(offset)
        return self.mesh.set_position(self.base_place + offset)

    def _linear(self) -> Geometry:
        if self.kind.base != "OWN":
            return self.mesh
        return self._set_position(self._deformation("linear", linear_blend, self.bones))

    def _dual_quaternion(self) -> Geometry:
        if self.kind.base != "OWN":
            return self._finished_on_base(self.mesh)
        return self._by_sets_or_bones(lambda _start, moved: moved)

    def _compensated(self) -> Geometry:
        if self.kind.base == "OWN":
            deformed = self._by_sets_or_bones(self._compensation())
            return deformed if self._all_within else self._swung_and_turned(deformed, plain=False)
        near = self._compensated_on_base(plain=True)
        return self._finished_on_base(self.b.choose(self._plain, self._elsewhere(), near))

    def _elsewhere(self) -> Geometry:
        """What is shown where few nodes do not serve, in a group.

        Blender prepares all nodes of a group in each frame, those that do not run as well.
        """
        made = [name for name in _READ_ELSEWHERE if self.__dict__.get(name) is not None]
        # Made outside: they read inputs.
        names = [*made, "_offset_strength", *["_spread"] * bool(self.kind.turns)]

        def inside(build: TreeBuilder, values: list[Any]) -> Geometry:
            other = copy(self)
            for derived in ("_reach", "_limb_states", "_placed_together", "to_armature"):
                other.__dict__.pop(derived, None)
            other.__dict__.update(zip(names, values, strict=True), b=build)
            return other._compensated_on_base(plain=False)

        values = [getattr(self, name) for name in names]
        return grouped(self.b, "DQ Compensation elsewhere", inside, values)

    def _compensated_on_base(self, *, plain: bool) -> Geometry:
        deformed = self._add_offset(plain=plain)
        return deformed if self.kind.at_once else self._swung_and_turned(deformed, plain=plain)

    def _swung_and_turned(self, deformed: Geometry, *, plain: bool) -> Geometry:
        if self.kind.swung:
            deformed = self._swung(deformed, plain=plain)
        return self._turned(deformed, plain=plain) if self.kind.turns else deformed

    def _finished_on_base(self, deformed: Geometry) -> Geometry:
        """What is added to the base, blended to LINEAR by the blend group."""
        return self._blended(deformed) if self.kind.blended else deformed

    def _blended(self, deformed: Geometry) -> Geometry:
        """The mesh blended to LINEAR, where Blender has taken the vertices, too.

        On ARMATURE it has taken them from p to p + (1 - w) (linear - p): w (deformed - p) is to be
        added.
        """
        build, weight = self.b, self._group("Blend Group")
        if self.kind.base == "SOFT":
            linear = self._as_masked(self._place_by(LINEAR_COPY))
            return deformed.set_position(linear + (build.position - linear) * weight, weight < 1.0)
        linear, _ = build.found_attribute(LINEAR, Vector)
        arriving, is_kept = build.found_attribute(ARRIVING, Vector)
        blended = self._as_masked(linear) + (build.position - arriving) * weight
        return deformed.set_position(blended, is_kept * (weight < 1.0))

    def _compensation(self) -> Finish:
        """The offsets of the compensation after skinning, in armature space."""
        build, strength = self.b, self._strength()
        if not self.kind.measured:
            offset = self._pair_offset(build.attribute(POSED_PAIR, Vector), strength)
            return lambda _start, moved: self._turned_within(moved + offset)

        def bring_back(start: Vector, moved: Vector) -> Vector:
            rest = start if self.kind.shaped else None
            palette, moved = self.palette, moved + self._back_to_limb(strength, rest, moved)
            if self._all_within and self.kind.swung:
                moved = moved + onto_chords(build, palette, self.kind.swung, strength, moved)
            return self._turned_within(moved)

        return bring_back

    def _back_to_limb(
        self, strength: Scalar, rest: Vector | None, moved: Vector, *, plain: bool = False
    ) -> Vector:
        vertices = (None if plain else self._limb_states, strength, rest, moved)
        return back_to_limb(self.b, self.palette, *vertices, aside=self.kind.aside)

    @property
    def _all_within(self) -> bool:
        """Whether swings and turns are computed with the rest: the result is blended or masked."""
        return self.kind.masked or self.kind.blended

    def _turned_within(self, moved: Vector) -> Vector:
        """The vertex with its turns, if they are computed with the rest."""
        if not (self._all_within and self.kind.turns):
            return moved
        spread = self.inputs["Twist Spread"]
        return moved + along_limbs(self.b, self.palette, self.kind.turns, spread, moved)

    def _turned(self, deformed: Geometry, *, plain: bool) -> Geometry:
        """The mesh with spread twists; only vertices of the limbs that twist are computed."""
        offset = self._turn(self._in_armature_space(self.place, plain=plain))
        offset = self._in_object_space(offset, plain=plain)
        first: Integer = self.b.attribute(numbered(TURN_LIMB, 0), Integer)
        return deformed.moved_by(offset, first)

    def _turn(self, moved: Vector) -> Vector:
        return along_limbs(self.b, self.palette, self.kind.turns, self._spread, moved)

    def _swung(self, deformed: Geometry, *, plain: bool) -> Geometry:
        """The mesh with swung vertices on their chords; only these are computed."""
        offset = self._to_chords(self._in_armature_space(self.place, plain=plain))
        offset = self._in_object_space(offset, plain=plain)
        strongest: Scalar = self.b.attribute(numbered(SWING_AMOUNT, 0), Scalar)
        return deformed.moved_by(offset, strongest > 0.0)

    def _to_chords(self, moved: Vector) -> Vector:
        return onto_chords(self.b, self.palette, self.kind.swung, self._offset_strength, moved)

    @property
    def _masks_offsets(self) -> bool:
        """Whether what is added is masked as the Armature modifier is, which stays masked."""
        return self.kind.masked and not self.kind.unmasks

    @cached_property
    def _offset_strength(self) -> Scalar:
        """Factor, painted weight and mask of the vertex."""
        strength = self._strength()
        return strength * self._mask_weight() if self._masks_offsets else strength

    @cached_property
    def _spread(self) -> Scalar:
        """How much of twists is spread, as far as the mask lets it through."""
        spread = self.inputs["Twist Spread"]
        return spread * self._mask_weight() if self._masks_offsets else spread

    def _strength(self) -> Scalar:
        """Factor and painted weight of the vertex."""
        strength = self.inputs["Factor"]
        return strength * self._group("Vertex Group") if self.kind.painted else strength

    def _pair_offset(self, offset: Vector, strength: Scalar) -> Vector:
        """The share of the offset of its pair of bones that each vertex takes."""
        amount: Scalar = self.b.attribute(AMOUNT, Scalar)
        strength = strength if self.mask is None else strength * self.mask
        of_pair = self.palette.sample(offset, self.b.attribute(PAIR, Integer))
        return of_pair * (amount * strength)

    def _by_sets_or_bones(self, then: Finish) -> Geometry:
        """Vertices by their set; those of doubtful sets bone by bone, if there are any."""
        bones = self.bones
        by_bone = self._finished(
            self._deformation("by bones", blended_by_bones, bones),
            then,
            self._deformation("linear", linear_blend, bones),
        )
        if self.kind.scattered:
            return self._set_position(by_bone)
        part = partial(dual_quaternion_sets, with_matrices=self.kind.blended)
        sets = self._sets(part)
        by_set = self._finished(
            self._deformation("by sets", blended_by_sets, sets),
            then,
            self._deformation("linear by sets", linear_blend_by_sets, sets),
        )
        return self._two_ways(sets, by_set, by_bone)

    def _finished(self, deform: Motion, then: Finish, linear: Motion) -> Motion:
        """The result of the method, blended with `linear` by the blend group.

        Every vertex goes both ways: parts of the mesh with a selection each saved nothing, and cost
        half as much again where the selections were speckled.
        """
        if not self.kind.blended:
            return lambda start: then(start, deform(start))
        weight = self._group("Blend Group")

        def between(start: Vector) -> Vector:
            moved = linear(start)
            return moved + (then(start, deform(start)) - moved) * weight

        return between

    def _spherical_joint(self) -> Geometry:
        sets = self._sets(joint_set_cloud)
        return self._two_ways(
            sets,
            self._deformation("by sets", turned_by_sets, sets),
            self._deformation("by bones", turned_by_bones, sets, self.bones),
        )

    def _sets(self, part: Callable[..., Cloud]) -> Cloud:
        of_sets = (self.mesh, self.bones, self.inputs["Sets"], self.kind.slots)
        return grouped(self.b, "DQ Compensation sets", part, *of_sets)

    def _deformation(self, name: str, part: Callable[..., Vector], *clouds: Cloud) -> Motion:
        """A part of `vertex_nodes` as a function of the start position, in a group."""
        slots = self.kind.slots

        def inside(build: TreeBuilder, mesh: Geometry, start: Vector, *clouds: Cloud) -> Vector:
            return part(Vertices(build, mesh, slots), *clouds, start)

        return lambda start: grouped(
            self.b, f"DQ Compensation {name}", inside, self.mesh, start, *clouds
        )

    def _two_ways(self, sets: Cloud, quick: Motion, per_bone: Motion) -> Geometry:
        build = self.b
        start = self.to_armature.transform_point(build.position)
        by_set, by_bone = (
            self._masked(self.to_object.transform_point(way(start))) for way in (quick, per_bone)
        )
        needs_per_bone = sets.at("needs_per_bone", self.b.attribute(SET, Integer)) > 0.5
        mixed = self.mesh.set_position(by_set, 1.0 - needs_per_bone).set_position(
            by_bone, needs_per_bone
        )
        any_doubt = sets.geometry.statistic(sets.fields["needs_per_bone"], "Max") > 0.5
        return build.choose(any_doubt, self._set_position(quick), mixed)
