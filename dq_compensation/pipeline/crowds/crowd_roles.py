"""Finds the characters, meshes and takes of the roles of a crowd.

A role with a problem plays nothing; its figures are left out, and the others stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import bpy
from bpy.types import Object

from ...errors import UserError
from ...scene.binding.binding import Binding
from ...scene.blender.armature import deforming_bones
from ...scene.blender.own_objects import is_hidden
from ...scene.blender.placement import is_place_unknown
from ...scene.stack import find_rig
from ...session.known_objects import enabled_objects
from ...session.status import status_of
from ...viewport.array_textures import TEXTURE_WIDTH, row_count
from ...wording import counted
from ..takes.known_takes import read_take, take_problem
from ..takes.settings import find_take
from ..takes.takes import Take, node_names
from .settings import DQCompensationCrowdRole

_CHARACTER_DELETED = "{character} was deleted. Undo that, or choose another character."
_NO_MESH = "{character} deforms no mesh. Append its meshes, too, or choose another character."
_NOT_ENABLED = "{character} deforms no enabled mesh. Select it and press Enable."
_NO_TAKE = "The role of {character} has no take. Choose one."
_POSITION_BYTES, _NORMAL_BYTES = 16, 8
# Of each row of a pose: its transform against its parent, three pixels; its row in a palette, five
# at most; the joints and the limb at its head, eight at most.
_POSE_ROW_BYTES = 16 * 16


@dataclass(frozen=True, eq=False)
class Role:
    """The character and takes of some figures, without Blender data; see `role_objects`.

    Attributes:
        number: in the list of the crowd.
        armature_uid, mesh_uids: the session_uid of the character and of its enabled meshes.
        take_names: of the first take, and of the second one if there is one.
        first, second, fade_frames: as cached; they are fitted to a binding before they are played.
        bytes: of one figure on the GPU.
    """

    number: int
    armature_uid: int
    armature_name: str
    mesh_uids: tuple[int, ...]
    take_names: tuple[str, ...]
    first: Take
    second: Take | None
    fade_frames: float
    bytes: int


Signature = tuple[object, ...]


def meshes_by_armature() -> dict[int, list[Object]]:
    """The enabled meshes of the file that are in a collection, by the uid of their armature."""
    by_armature: dict[int, list[Object]] = {}
    for obj in enabled_objects():
        rig = find_rig(obj)
        if rig is not None and obj.users_collection:
            by_armature.setdefault(rig.session_uid, []).append(obj)
    return by_armature


def role_signature(
    item: DQCompensationCrowdRole, meshes: Mapping[int, Sequence[Object]]
) -> Signature:
    """A key that differs where `role_of` gives another result."""
    character = item.character
    if character is None:
        return (None, item.share)
    return (
        character.session_uid,
        character.name,
        bool(character.users_collection),
        is_place_unknown(character),
        item.share,
        item.take,
        item.then,
        item.fade_frames,
        *(_stored(character, name) for name in (item.take, item.then)),
        *(
            (obj.session_uid, obj.name, status_of(obj).binding, status_of(obj).problem)
            for obj in meshes.get(character.session_uid, ())
        ),
    )


def role_of(
    number: int,
    item: DQCompensationCrowdRole,
    meshes: Mapping[int, Sequence[Object]],
    problems: list[str],
) -> Role:
    """A role that can be played; UserError where nothing of it can be drawn."""
    character = item.character
    if character is None:
        raise UserError(f"Role {number + 1} has no character. Choose an armature.")
    name = character.name
    if character.type != "ARMATURE":
        raise UserError(f"{name} is not an armature. Choose the armature of the character.")
    if not character.users_collection:
        raise UserError(_CHARACTER_DELETED.format(character=name))
    objects = meshes.get(character.session_uid, ())
    if not objects:
        shown = [obj for obj in bpy.data.objects if obj.users_collection and not is_hidden(obj)]
        deforms = any(find_rig(obj) == character for obj in shown)
        raise UserError((_NOT_ENABLED if deforms else _NO_MESH).format(character=name))
    for obj in objects:
        if reason := status_of(obj).problem:
            raise UserError(reason)
    if not item.take:
        raise UserError(_NO_TAKE.format(character=name))
    if is_place_unknown(character):
        problems.append(
            f"{name} is excluded from the view layer, and a bone or a constraint places it: its "
            "turn and its size are not known. Include its collection once after opening the file."
        )
    names = tuple(filter(None, (item.take, item.then)))
    bindings = [binding for obj in objects if (binding := status_of(obj).binding) is not None]
    takes = [_take(character, take, bindings, problems) for take in names]
    second = takes[1] if len(takes) > 1 else None
    rows = max((binding.skeleton.row_count for binding in bindings), default=0)
    return Role(
        number,
        character.session_uid,
        name,
        tuple(obj.session_uid for obj in objects),
        names,
        takes[0],
        second,
        item.fade_frames,
        figure_bytes(map(_counts, objects), rows or takes[0].node_count),
    )


def _take(character: Object, name: str, bindings: Sequence[Binding], problems: list[str]) -> Take:
    if problem := take_problem(character, name):
        raise UserError(problem)
    item = find_take(character, name)
    assert item is not None
    take = read_take(item)
    rows = node_names(bindings[0].skeleton) if bindings else take.node_names
    missing = set(rows) - set(take.node_names)
    if len(missing) == len(rows):
        raise UserError(
            f"The take {name} has none of the bones of {character.name}. Copy it from an armature "
            "with bones of the same names, or cache another one."
        )
    still = missing & deforming_bones(character)
    if still:
        verb, rest = ("is", "rests") if len(still) == 1 else ("are", "rest")
        problems.append(
            f"{counted(len(still), 'bone')} of {character.name} {verb} not in the take {name} and "
            f"{rest}. If bones were added or renamed, cache the take again."
        )
    return take


def figure_bytes(meshes: Iterable[tuple[int, int]], pose_rows: int) -> int:
    """The memory of one figure on the GPU.

    Args:
        meshes: of each mesh, the number of its vertices and of its normals.
        pose_rows: the rows of a pose of its armature.
    """
    return pose_rows * _POSE_ROW_BYTES + TEXTURE_WIDTH * sum(
        row_count(vertices) * _POSITION_BYTES + row_count(normals) * _NORMAL_BYTES
        for vertices, normals in meshes
    )


def _counts(obj: Object) -> tuple[int, int]:
    """The vertices and the normals of a mesh object."""
    binding = status_of(obj).binding
    if binding is not None:
        return binding.vertex_count, binding.topology.group_count
    count = len(obj.data.vertices)  # type: ignore[union-attr]
    return count, count


def _stored(character: Object, name: str) -> tuple[bool, int | None]:
    """Whether there is a take of a name, and the session_uid of its data-block."""
    item = find_take(character, name) if name else None
    stored = item.stored if item is not None else None
    return item is not None, stored.session_uid if stored is not None else None
