"""The roles of a crowd as they can be played: characters with their meshes and takes.

A role with a problem plays nothing; its figures are left out, and the others stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import bpy

from ..core.takes import Take, node_names
from ..errors import UserError
from ..scene.binding.binding import Binding
from ..scene.blender.armature import deforming_bones, is_place_unknown
from ..scene.blender.own_objects import is_hidden
from ..scene.blender.rigging import find_rig
from ..scene.settings.crowd_settings import DQCompensationCrowdRole
from ..scene.settings.take_settings import find_take
from ..session.known_objects import enabled_objects
from ..session.known_takes import read_take, take_problem
from ..session.status import status_of
from ..viewport.gpu.shader_building import TEXTURE_WIDTH
from ..viewport.gpu.textures import row_count
from ..wording import counted

DELETED = "{character} was deleted. Undo that, or choose another character."
NO_MESH = "{character} deforms no mesh. Append its meshes, too, or choose another character."
NOT_ENABLED = "{character} deforms no enabled mesh. Select it and press Enable."
NO_TAKE = "The role of {character} has no take. Choose one."
_POSITION_BYTES, _NORMAL_BYTES = 16, 8
# Of each row of a pose: its transform against its parent, three pixels; its row in a palette, five
# at most; the joints and the limb at its head, eight at most.
_POSE_ROW_BYTES = 16 * 16


@dataclass(frozen=True, eq=False)
class Role:
    """The character and takes of some figures. No Blender data: `role_objects` finds that.

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


def enabled_meshes() -> dict[int, list[bpy.types.Object]]:
    """The enabled meshes of the file that are in a collection, by the uid of their armature."""
    found: dict[int, list[bpy.types.Object]] = {}
    for obj in enabled_objects():
        rig = find_rig(obj)
        if rig is not None and obj.users_collection:
            found.setdefault(rig.session_uid, []).append(obj)
    return found


def role_signature(
    item: DQCompensationCrowdRole, meshes: Mapping[int, Sequence[bpy.types.Object]]
) -> Signature:
    """Differs where `playable_role` gives another result."""
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


def playable_role(
    number: int,
    item: DQCompensationCrowdRole,
    meshes: Mapping[int, Sequence[bpy.types.Object]],
    problems: list[str],
) -> Role | None:
    """A role that can be played; None with a sentence in `problems` where nothing can be drawn."""
    try:
        return _role(number, item, meshes, problems)
    except UserError as error:
        problems.append(str(error))
        return None


def _role(
    number: int,
    item: DQCompensationCrowdRole,
    meshes: Mapping[int, Sequence[bpy.types.Object]],
    problems: list[str],
) -> Role:
    character = item.character
    if character is None:
        raise UserError(f"Role {number + 1} has no character. Choose an armature.")
    name = character.name
    if character.type != "ARMATURE":
        raise UserError(f"{name} is not an armature. Choose the armature of the character.")
    if not character.users_collection:
        raise UserError(DELETED.format(character=name))
    own = meshes.get(character.session_uid, ())
    if not own:
        shown = [obj for obj in bpy.data.objects if obj.users_collection and not is_hidden(obj)]
        deforms = any(find_rig(obj) == character for obj in shown)
        raise UserError((NOT_ENABLED if deforms else NO_MESH).format(character=name))
    for obj in own:
        if reason := status_of(obj).problem:
            raise UserError(reason)
    if not item.take:
        raise UserError(NO_TAKE.format(character=name))
    if is_place_unknown(character):
        problems.append(
            f"{name} is excluded from the view layer, and a bone or a constraint places it: its "
            "turn and its size are not known. Include its collection once after opening the file."
        )
    names = tuple(filter(None, (item.take, item.then)))
    bindings = [binding for obj in own if (binding := status_of(obj).binding) is not None]
    takes = [_take(character, take, bindings, problems) for take in names]
    second = takes[1] if len(takes) > 1 else None
    rows = max((binding.skeleton.row_count for binding in bindings), default=0)
    return Role(
        number,
        character.session_uid,
        name,
        tuple(obj.session_uid for obj in own),
        names,
        takes[0],
        second,
        item.fade_frames,
        figure_bytes(map(_counts, own), rows or takes[0].node_count),
    )


def _take(
    character: bpy.types.Object, name: str, bindings: Sequence[Binding], problems: list[str]
) -> Take:
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


def _counts(obj: bpy.types.Object) -> tuple[int, int]:
    """The vertices and the normals of a mesh object."""
    binding = status_of(obj).binding
    if binding is not None:
        return binding.vertex_count, binding.topology.group_count
    count = len(obj.data.vertices)  # type: ignore[union-attr]
    return count, count


def _stored(character: bpy.types.Object, name: str) -> tuple[bool, int | None]:
    """Whether there is a take of that name, and which data-block has it."""
    item = find_take(character, name) if name else None
    stored = item.stored if item is not None else None
    return item is not None, stored.session_uid if stored is not None else None
