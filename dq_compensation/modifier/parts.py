"""What of ours a character has: one list says it, in the order in which the parts need each other.

To enable an object is to apply each part; to bring it up to date, too: a part that is as it should
be stays as it is. To disable it is to remove them, the last one first. Whether a part has changed
since, or was edited by somebody else, is what it says of itself now, against what it said when it
was made (`written_record`). A new part is a line of `PARTS`.

| part | belongs to | how it is known | there |
|---|---|---|---|
| palette (for riggers: posed bones) | the armature | `own_objects` | where the tree reads bones |
| attributes | the mesh, or an attribute object | their names | where the tree reads any |
| solved shapes' points | the object | what ours reads | where solved shapes act |
| soft copy; linear copy | the object | a pointer; what ours reads | with Softness; and a Blend |
| Armature modifier | the user; we keep what was set | the object's settings | always |
| modifiers | the object | `scene.stack` | as `our_modifiers` describes them |
| Hooks | the user; they have groups of ours | the object's settings | where they know numbers |
| drivers | the object | the settings that they read | where the tree has such inputs |

Attributes are in an object of their own where the mesh is linked, shared, or arrives with other
vertices. Settings, records of what was made, and kept weights are not parts: they stay, or go with
their owner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import bpy

from ..core.deform import Deformation
from ..scene.binding.binding import Binding
from ..scene.binding.kept_examples import Examples
from ..scene.binding.soft_copy import soft_copy, step_of
from ..scene.blender.mesh import mesh_of
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import Settings
from ..scene.stack import record_of_tree
from . import our_modifiers
from .attribute_names import LINEAR_COPY, SOFT_COPY, SOFT_SHARE, SOLVED_INPUT
from .attributes.attribute_objects import ATTRIBUTES_INPUT, ensure_attribute_object
from .attributes.solved_points import SolvedLayout, ensure_solved_points, state_of_points
from .attributes.vertex_attributes import digest_of_attributes, replace_attributes, write_attributes
from .base import hiding_refusal, mask_of, restore_modifier, shown_in_viewport, take_over_modifier
from .copied_keys import are_keys_driven, copy_keys
from .hooks import endangered_hooks, keep_hooks, release_hooks
from .leftovers import remove_unused
from .modifier_inputs import (
    DRIVEN_INPUTS,
    are_driven,
    drive_settings,
    get_inputs,
    release_settings,
)
from .nodes.node_tree import build_tree
from .nodes.own_trees import KEY, NODES, ensure_tree, is_unedited
from .nodes.shape_trees import BACK_KEY, build_back_tree, build_shape_tree
from .palette_object import (
    compute_what_is_read,
    computed_for,
    edition_of,
    ensure_palette,
    is_intact,
)
from .palette_points import rows_of_bones
from .soft_copies import ensure_linear_copy, ensure_soft_copy, is_tied
from .tree_kind import Base, ExampleCounts, ShapeCounts, TreeKind, kind_for

# Names of parts, for riggers.
POSED_BONES = "posed bones"
ATTRIBUTES = "attributes"
BASE = "Armature modifier's visibility"
OF_MODIFIERS = {BASE, "node tree", "place in the stack", "Hooks", "modifier's inputs"}
"""Those of `Part.of_modifiers`."""


@dataclass
class Wanted:
    """What an object is to have, as `installation` has worked it out.

    Attributes:
        binding, settings, found, examples, base: by which it is deformed.
        deformation: what was found, without what does not act.
        bones: those that the palette needs besides those that deform; None without a palette.
        straight: those that it needs as one straight bone.
        reads: what the tree reads of bones.
        reads_mesh: whether it reads attributes.
        is_apart: whether these are in an attribute object.
        is_alone: whether no other object reads attributes of the mesh.
        twist_spread: how much of the spread acts now; attributes are written for all of it.
        is_driven: whether drivers take `FOLLOWED_SETTINGS` from the object's properties.
        only_content: nothing but what was read of the mesh has changed.
        keeps_modifiers: the modifiers, Hooks and drivers are as they were made: they stay, where
            tree and inputs are the same.
        known_palette: that which the modifier reads, where it is as it was made.
        palette, solved, points, attributes, sets, copy, linear_copy: what parts have made for those
            after them.
    """

    skinned: SkinnedObject
    binding: Binding
    settings: Settings
    found: Deformation
    deformation: Deformation
    examples: Examples | None
    base: Base
    bones: frozenset[str] | None
    straight: frozenset[str]
    reads: set[str]
    reads_mesh: bool
    is_apart: bool
    is_alone: bool
    is_driven: bool
    twist_spread: float = 0.0
    only_content: bool = False
    keeps_modifiers: bool = False
    known_palette: bpy.types.Object | None = None
    palette: bpy.types.Object | None = None
    solved: SolvedLayout | None = None
    points: bpy.types.Object | None = None
    attributes: bpy.types.Object | None = None
    sets: int = 1
    copy: bpy.types.Object | None = None
    linear_copy: bpy.types.Object | None = None


class Seen:
    """An object that has our modifier, for parts to say what they are now.

    Attributes:
        record, base: what its tree is for.
        inputs, palette, attributes, points, copy: what the modifier reads.
    """

    def __init__(self, skinned: SkinnedObject, ours: bpy.types.NodesModifier) -> None:
        self.skinned = skinned
        self.ours = ours
        self.record = record_of_tree(ours.node_group)
        self.base: Base = self.record.get("base", "OWN")
        self.inputs = get_inputs(ours)
        self.palette: bpy.types.Object | None = self.inputs.get("Palette")
        self.attributes: bpy.types.Object | None = self.inputs.get(ATTRIBUTES_INPUT)
        self.points: bpy.types.Object | None = self.inputs.get(SOLVED_INPUT)
        self.copy: bpy.types.Object | None = self.inputs.get(SOFT_COPY)
        self.linear_copy: bpy.types.Object | None = self.inputs.get(LINEAR_COPY)

    @classmethod
    def of(cls, skinned: SkinnedObject) -> Seen | None:
        """An object as it is now; None without our modifier."""
        ours = skinned.ours
        return None if ours is None else cls(skinned, ours)


@dataclass(frozen=True)
class Part:
    """A thing of ours that a character has.

    Attributes:
        state: by the names for riggers values that are equal while it is as it was made.
        apply: makes it as wanted.
        remove: takes it away from an object, or gives back what is the user's; harmless without it.
        of_modifiers: whether it is as it was where the modifiers are kept (`keeps_modifiers`).
    """

    state: Callable[[Seen], dict[str, object]]
    apply: Callable[[Wanted], None]
    remove: Callable[[SkinnedObject], None]
    of_modifiers: bool = False


def _state_of_palette(seen: Seen) -> dict[str, object]:
    palette = seen.palette
    is_right = palette is not None and is_intact(palette, seen.skinned.rig)
    return {POSED_BONES: (is_right, edition_of(palette))}


def _apply_palette(wanted: Wanted) -> None:
    if wanted.bones is not None:
        rig, binding = wanted.skinned.rig, wanted.binding
        about = (wanted.bones, wanted.straight, wanted.known_palette)
        wanted.palette = ensure_palette(rig, binding, *about)


def _state_of_solved(seen: Seen) -> dict[str, object]:
    return {"points of solved shapes": state_of_points(seen.points)}


def _apply_solved(wanted: Wanted) -> None:
    solved, skeleton = wanted.deformation.solved, wanted.binding.skeleton
    if solved is not None and wanted.palette is not None:
        rows = rows_of_bones(wanted.palette, skeleton.names)[:, 0]
        wanted.solved = SolvedLayout.of(solved, rows)
        if wanted.solved is not None:
            wanted.points = ensure_solved_points(wanted.skinned, wanted.solved)


def _state_of_attributes(seen: Seen) -> dict[str, object]:
    hidden = seen.attributes
    return {ATTRIBUTES: digest_of_attributes(seen.skinned.mesh if not hidden else mesh_of(hidden))}


def _apply_attributes(wanted: Wanted) -> None:
    skinned, binding, palette = wanted.skinned, wanted.binding, wanted.palette
    if wanted.reads_mesh:
        assert palette is not None
        if wanted.is_apart:
            wanted.attributes = ensure_attribute_object(skinned, binding.vertex_count)
        wanted.sets = write_attributes(
            mesh_of(wanted.attributes or skinned.obj),
            binding,
            wanted.deformation,
            (wanted.examples, wanted.solved),
            palette,
            wanted.base,
            remove_others=wanted.is_apart or wanted.is_alone,
        )
    elif wanted.is_alone:
        replace_attributes(skinned.mesh, {})
    if palette is not None:
        compute_what_is_read(palette, wanted.reads | computed_for(palette))


def _state_of_soft_copy(seen: Seen) -> dict[str, object]:
    copy, own = seen.copy, soft_copy(seen.skinned)
    is_right = copy is None or (
        _in_its_file(copy) == _in_its_file(own) and is_tied(copy, seen.skinned)
    )
    is_right &= copy is None or are_keys_driven(copy, seen.skinned)
    if LINEAR_COPY in seen.inputs:
        linear = seen.linear_copy
        is_right &= linear is not None and is_tied(linear, seen.skinned, linear_of=copy)
    return {"soft copy": is_right}


def _in_its_file(obj: bpy.types.Object | None) -> bpy.types.ID | None:
    """An object, or of a library override what it overrides.

    An overridden object that is opened again points to the soft copy of the other file; its
    modifier reads the override of that.
    """
    override = None if obj is None else obj.override_library
    return obj if override is None else override.reference


def _apply_soft_copy(wanted: Wanted) -> None:
    if wanted.base == "SOFT":
        wanted.copy = ensure_soft_copy(wanted.skinned)
        copy_keys(wanted.copy, wanted.skinned, wanted.binding.shape_keys)
        if wanted.deformation.blend is not None:
            wanted.linear_copy = ensure_linear_copy(wanted.skinned, wanted.copy)


def _state_of_base(seen: Seen) -> dict[str, object]:
    """The base, and where it is shown: what is not deformed is not compensated."""
    skinned, base = seen.skinned, seen.base
    if base != "ARMATURE":
        return {BASE: (base, hiding_refusal(skinned, base))}
    armature = skinned.modifier
    shown = (shown_in_viewport(skinned), armature.show_render, armature.show_in_editmode)
    return {BASE: (base, *shown, *mask_of(skinned, base))}


def _apply_base(wanted: Wanted) -> None:
    if not wanted.only_content:
        take_over_modifier(wanted.skinned, wanted.base, wanted.settings)


def _state_of_modifiers(seen: Seen) -> dict[str, object]:
    return {
        "node tree": (seen.record.get(KEY), seen.record.get(NODES)),
        "place in the stack": not our_modifiers.differences(seen.skinned, seen.record, seen.inputs),
    }


def _apply_modifiers(wanted: Wanted) -> None:
    skinned, ours = wanted.skinned, wanted.skinned.ours
    kind, inputs = _kind_and_inputs(wanted)
    if ours is not None and wanted.keeps_modifiers:
        now = get_inputs(ours)
        others = {SOFT_SHARE, *DRIVEN_INPUTS}
        same = (now[name] == inputs[name] for name in now if name not in others)
        if is_unedited(ours.node_group, kind.key) and all(same):
            return
    wanted.only_content = wanted.keeps_modifiers = False
    shape = partial(build_shape_tree, kind.examples, sampled=kind.sampled, switched=kind.switched)
    trees: our_modifiers.Trees = {
        "DEFORMS": partial(ensure_tree, kind.key, partial(build_tree, kind), kind.record),
        "SHAPE": partial(ensure_tree, kind.keeper_key, shape, {"role": "SHAPE"}),
        "BACK": partial(ensure_tree, BACK_KEY, build_back_tree, {"role": "BACK"}),
    }
    record: dict[str, Any] = {**kind.record, KEY: kind.key}
    our_modifiers.apply(skinned, our_modifiers.described(skinned, record, inputs), trees)


def _kind_and_inputs(wanted: Wanted) -> tuple[TreeKind, dict[str, object]]:
    """The kind of tree that deforms an object, and the inputs of the modifier."""
    skinned, binding, settings = wanted.skinned, wanted.binding, wanted.settings
    deformation, examples, copy = wanted.deformation, wanted.examples, wanted.copy
    base, keys, counts = wanted.base, binding.shape_keys, None
    if examples is not None and keys is not None:
        counts = ExampleCounts.of(examples, keys.offsets)
    mask, inverted = mask_of(skinned, base)
    armature = skinned.modifier
    shown = {"In Viewport": shown_in_viewport(skinned), "In Renders": armature.show_render}
    kind = kind_for(
        deformation,
        ShapeCounts(counts, None if wanted.solved is None else wanted.solved.counts),
        base,
        masked=bool(mask) or inverted,
        shape_varies=binding.shape_varies,
        sets=wanted.sets,
        sampled=wanted.attributes is not None,
        base_is_on=all(shown.values()),
    )
    step = 0.0 if copy is None else step_of(copy, len(skinned.mesh.vertices))
    # What is mixed with others cannot be taken apart.
    kind = replace(
        kind,
        stepped=step > 0.0,
        unmasks=kind.unmasks and not binding.is_mixed,
    )
    return kind, {
        "Palette": wanted.palette,
        "Factor": settings.factor,
        "Twist Spread": wanted.twist_spread,
        "Vertex Group": settings.vertex_group,
        "Blend Group": settings.blend_group,
        "Mask": mask,
        "Invert Mask": inverted,
        ATTRIBUTES_INPUT: wanted.attributes,
        SOLVED_INPUT: wanted.points,
        SOFT_COPY: copy,
        SOFT_SHARE: 1.0,
        LINEAR_COPY: wanted.linear_copy,
        "Step": step,
        "Vertices": binding.vertex_count,
        "Sets": wanted.sets,
        **shown,
    }


def _state_of_hooks(seen: Seen) -> dict[str, object]:
    obj = seen.skinned.obj
    return {"Hooks": obj.override_library is not None or not endangered_hooks(obj)}


def _apply_hooks(wanted: Wanted) -> None:
    if not wanted.keeps_modifiers and wanted.skinned.obj.override_library is None:
        keep_hooks(wanted.skinned.obj)


def _state_of_inputs(seen: Seen) -> dict[str, object]:
    objects = {"Palette", ATTRIBUTES_INPUT, SOLVED_INPUT, SOFT_COPY, LINEAR_COPY}
    others = objects | {SOFT_SHARE, *DRIVEN_INPUTS}
    inputs = sorted((name, seen.inputs[name]) for name in seen.inputs.keys() - others)
    return {"modifier's inputs": (inputs, are_driven(seen.skinned.obj, seen.ours))}


def _apply_drivers(wanted: Wanted) -> None:
    ours = wanted.skinned.ours
    if ours is not None and wanted.is_driven and not wanted.keeps_modifiers:
        drive_settings(wanted.skinned, ours)


PARTS = (
    # What nothing reads any more goes with the last one that is removed.
    Part(_state_of_palette, _apply_palette, lambda _: remove_unused()),
    Part(_state_of_solved, _apply_solved, lambda _: None),
    Part(_state_of_attributes, _apply_attributes, lambda _: None),
    Part(_state_of_soft_copy, _apply_soft_copy, lambda _: None),
    Part(_state_of_base, _apply_base, restore_modifier, of_modifiers=True),
    Part(
        _state_of_modifiers,
        _apply_modifiers,
        lambda skinned: our_modifiers.remove(skinned.obj),
        of_modifiers=True,
    ),
    Part(
        _state_of_hooks, _apply_hooks, lambda skinned: release_hooks(skinned.obj), of_modifiers=True
    ),
    Part(_state_of_inputs, _apply_drivers, release_settings, of_modifiers=True),
)
"""The parts of an enabled object, each after those that it needs."""
