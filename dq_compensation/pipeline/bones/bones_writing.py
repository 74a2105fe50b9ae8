"""The writing step of a bake to bones: bones and weights, at once."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import bpy
import numpy as np

from ...arrays import Float64s, Floats, Integers
from ...bake.bake_reports import remember_report
from ...bake.bake_targets import BakeOnto, add_copy, let_armature_deform, remove_copy, show_copy
from ...holding import look_again
from ...modifier.base import preserves_volume
from ...scene.blender.armature import armature_of, deforming_bones
from ...scene.blender.mesh import mesh_of
from ...scene.blender.rigging import rig_of
from ...scene.blender.skinned_object import SkinnedObject
from ...scene.group_users import group_users
from ...scene.kept_weights import keep_weights
from ...scene.stack import armature_modifier, find_rig
from ...scene.vertex_groups import write_entries
from ..correctives.corrective_poses import blending_joints
from .bakes_removal import remove_bones_bake
from .bones_check import helps
from .bones_fitting import Fitted
from .bones_reports import BonesReport
from .helper_bones import Helper, helper_heads
from .helper_naming import helper_name
from .helper_rig import HELPER_LENGTH, HelperBone, Limb, Turn, add_helpers
from .options import BonesOptions, Engine
from .twist_bones import TwistHelper

# How many uses of changed weights a report names.
_USES_SHOWN = 2


@dataclass(frozen=True, eq=False)
class Written:
    """A bake to bones after it was written, or was not.

    Attributes:
        names: of the rows of the skinning: bones and twist bones, then helpers.
    """

    found: Fitted
    report: BonesReport
    names: tuple[str, ...] = ()


def write_bones(found: Fitted, options: BonesOptions) -> Written:
    """Write the helper bones and the weights."""
    source, skinning, report = found.source, found.skinning, found.report
    if not helps(found.rig, skinning):
        return Written(found, report)
    with _bones_targets(source.objects, options.onto) as (armature, objects):
        if options.overwrite:
            remove_bones_bake(objects)
        names, helpers = _named(found, armature)
        add_helpers(armature, helpers)
        rows = zip(source.split(skinning.indices), source.split(skinning.weights), strict=True)
        used: list[str] = []
        for obj, (numbers, weights) in zip(objects, rows, strict=True):
            used += _other_uses(obj)
            _write_weights(obj, names, helpers, numbers, weights, options.engine)
    for obj in objects:
        let_armature_deform(obj, "LINEAR")
    if options.onto == "COPY":
        for obj, copy in zip(source.objects, objects, strict=True):
            show_copy(obj, copy)
        # One that is being posed stays.
        if source.armature.mode == "OBJECT":
            show_copy(source.armature, armature)
    report = replace(
        report,
        used=" ".join(used),
        onto_names=tuple(obj.name for obj in objects),
    )
    for obj in objects:
        remember_report(obj, report.sentence(), summary=report.summary(), of_bones=True)
    return Written(found, report, tuple(names))


@contextmanager
def _bones_targets(
    objects: Sequence[bpy.types.Object], onto: BakeOnto
) -> Generator[tuple[bpy.types.Object, list[bpy.types.Object]]]:
    """The armature and the meshes that get the bones; copies are removed again when it fails.

    Args:
        objects: mesh objects on one armature.
    """
    armature = rig_of(objects[0])
    if onto == "THIS":
        yield armature, list(objects)
        return
    rig = add_copy(armature)
    _make_local(rig)
    for owner in (rig, rig.data):
        _redirect(owner, {armature: rig, armature.data: rig.data})
    copies: list[bpy.types.Object] = []
    try:
        for obj in objects:
            copies.append(copy := add_copy(obj))
            # Before Blender evaluates it: an enabled copy would be followed.
            let_armature_deform(copy, "LINEAR")
            _put_on(copy, armature, rig)
        yield rig, copies
    except BaseException:
        for copy in (*copies, rig):
            remove_copy(copy)
        raise


def _put_on(copy: bpy.types.Object, armature: bpy.types.Object, rig: bpy.types.Object) -> None:
    """Let a copied mesh object follow a copied armature instead of the original one."""
    _make_local(copy)
    modifier = armature_modifier(copy)
    if modifier is not None:
        modifier.object = rig
        look_again()
    if copy.parent == armature:
        inverse = copy.matrix_parent_inverse.copy()
        copy.parent = rig
        copy.matrix_parent_inverse = inverse
    for owner in (copy, mesh_of(copy).shape_keys):
        if owner is not None:
            _redirect(owner, {armature: rig, armature.data: rig.data})


def _make_local(copy: bpy.types.Object) -> None:
    """Let a copy of a library override be none: it would neither get bones nor keep its changes."""
    if copy.override_library is not None:
        copy.make_local(clear_liboverride=True)


def _redirect(owner: Any, replaced: dict[Any, Any]) -> None:
    """Let drivers of a copy read the copies."""
    animation: Any = owner.animation_data
    for curve in animation.drivers if animation is not None else ():
        for variable in curve.driver.variables:
            for target in variable.targets:
                if target.id in replaced:
                    target.id = replaced[target.id]


def _named(found: Fitted, armature: bpy.types.Object) -> tuple[list[str], list[HelperBone]]:
    """Helpers with names that no bone of an armature and no group of its meshes has.

    Returns:
        the name of each row of the skinning, and the helpers in the order of these rows.
    """
    taken = set(armature_of(armature).bones.keys())
    meshes = [obj for obj in bpy.data.objects if obj.type == "MESH" and find_rig(obj) == armature]
    taken |= {group.name for obj in meshes for group in obj.vertex_groups}
    naming = _Naming(found, taken)
    helpers = [naming.twist(row, twist) for row, twist in found.rig.used(found.skinning)]
    heads = helper_heads(found.skinning.helpers, found.rig.skeleton)
    helpers += [naming.helper(*each) for each in zip(found.skinning.helpers, heads, strict=True)]
    return naming.names, helpers


class _Naming:
    """Names for helpers and for the bones that they need.

    Attributes:
        names: of the rows of the skinning, as far as they have any.
    """

    def __init__(self, found: Fitted, taken: set[str]) -> None:
        source, self._rig, self._taken = found.source, found.rig, taken
        self._bones = source.skeleton.names
        self._joints = set(blending_joints(source.influences, source.skeleton))
        self._counts: dict[tuple[tuple[str, ...], str], int] = {}
        self._gauges: dict[tuple[int, int, str], str] = {}
        self._limbs: dict[int, str] = {}
        self.names = [self._bones[bone] for bone in self._rig.origin.tolist()]

    def twist(self, row: int, twist: TwistHelper) -> HelperBone:
        """A twist bone, with this row."""
        bones, limb, axes = self._bones, self._bones[twist.limb], self._axes(row)
        self.names[row] = self._new((limb,), "twist")
        turns = [
            Turn(self._gauge(above, below, "turn_twist"), bones[above], bones[below], factor)
            for above, below, factor in twist.turns
        ]
        return HelperBone(self.names[row], limb, limb, 1.0, axes=axes, turns=tuple(turns))

    def helper(self, helper: Helper, head: Float64s) -> HelperBone:
        """A helper of a pair with its head here, armature space, shape (3,)."""
        parent, child = helper.parent, helper.child
        self.names.append(name := self._new(self._of_joint(parent, child), "helper"))
        anchor, along, limb = self._anchor(helper)
        offset = (head - self._rig.skeleton.heads[child]) / self._length(child)
        return HelperBone(
            name,
            self.names[parent],
            self.names[child],
            helper.share,
            helper.growth,
            helper.shrink,
            anchor,
            along,
            self._gauge(parent, child, helper.gauge) if helper.gauge else "",
            helper.narrowing,
            helper.side,
            helper.twisting,
            self._axes(helper.frame),
            gauge_axes=self._axes(child),
            offset=tuple(offset.tolist()),
            limb=limb,
        )

    def _new(self, of: tuple[str, ...], word: str) -> str:
        self._counts[of, word] = number = self._counts.get((of, word), 0) + 1
        name = helper_name(of, f"{word}{number}", self._taken)
        self._taken.add(name)
        return name

    def _of_joint(self, above: int, bone: int) -> tuple[str, ...]:
        above, bone = int(self._rig.origin[above]), int(self._rig.origin[bone])
        alone = (above, bone) in self._joints or above == bone
        return (self._bones[bone],) if alone else (self._bones[bone], self._bones[above])

    def _gauge(self, above: int, bone: int, word: str) -> str:
        if (above, bone, word) not in self._gauges:
            self._gauges[above, bone, word] = self._new(self._of_joint(above, bone), word)
        return self._gauges[above, bone, word]

    def _axes(self, row: int) -> tuple[float, ...]:
        return tuple(self._rig.skeleton.rest[row, :3, :3].ravel().tolist())

    def _length(self, row: int) -> float:
        """The length of the bone of a row in the file."""
        rig, bone = self._rig, self._rig.origin[row]
        length = float(np.linalg.norm(rig.plain.tails[bone] - rig.plain.heads[bone]))
        return length * (HELPER_LENGTH if rig.is_twist[row] else 1.0)

    def _anchor(self, helper: Helper) -> tuple[str, float, Limb | None]:
        """What takes the head of a helper along, where on that, and how it comes about."""
        if helper.anchor < 0:
            return "", 0.0, None
        bone, along = self._rig.anchor(helper)
        if along is not None:
            return self._bones[bone], along, None
        if bone not in self._limbs:
            self._limbs[bone] = self._new((self._bones[bone],), "limb")
        row, skeleton = int(np.flatnonzero(self._rig.origin == bone)[0]), self._rig.skeleton
        length = float(np.linalg.norm(skeleton.tails[row] - skeleton.heads[row]))
        limb = Limb(self._bones[bone], self._axes(row), length / self._length(row))
        return self._limbs[bone], helper.along, limb


def _other_uses(obj: bpy.types.Object) -> list[str]:
    """Sentences about what else than bones uses the weights of an object's bones."""
    bones = deforming_bones(rig_of(obj))
    users = {group: user for group, user in group_users(obj).items() if group in bones}
    return [
        f"The weights of {group} have changed, which {user} of {obj.name} uses, too."
        for group, user in list(users.items())[:_USES_SHOWN]
    ]


def _write_weights(
    obj: bpy.types.Object,
    names: list[str],
    helpers: Sequence[HelperBone],
    numbers: Integers,
    weights: Floats,
    engine: Engine,
) -> None:
    """Give an object weights of bones and helpers; keep its former weights in its mesh.

    Args:
        names: of the rows of the skinning.
        numbers: shape (n, k), such rows.
        weights: shape (n, k).
    """
    ours = [helper.name for helper in helpers]
    deforming = deforming_bones(rig_of(obj)).difference(ours)
    groups = [group.name for group in obj.vertex_groups if group.name in deforming]
    used = [names[number] for number in np.unique(numbers[weights > 0.0]).tolist()]
    added = [name for name in used if name not in obj.vertex_groups]
    keep_weights(
        obj,
        groups,
        added=added,
        helpers=[asdict(helper) for helper in helpers],
        preserve_volume=preserves_volume(SkinnedObject(obj)),
        engine=engine,
    )
    written = [*groups, *added]
    place = {name: index for index, name in enumerate(written)}
    places = np.array([place.get(name, -1) for name in names])
    write_entries(obj, written, np.where(weights > 0.0, places[numbers], -1), weights)
