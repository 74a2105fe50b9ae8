"""Takes that are copied to other armatures, whose bones are matched by name."""

from __future__ import annotations

from bpy.types import Object

from ...errors import UserError
from ...scene.blender.armature import deforming_bones, read_skeleton
from ...scene.blender.bendy_bones import with_bendy_bones
from ...wording import counted, listed
from .fitted_takes import fitted
from .known_takes import note_other_takes, read_take
from .settings import take_settings_of, takes_of
from .takes import Take, node_names

_COPIED = ("name", "stored", "frame_start", "frame_end", "tolerance", "interpolation")
_COPIED += ("error", "sampled_keys", "keys")
_REFUSAL_NO_BONES = "{armature} has no bone of the take {take} of {source}."


def copy_takes(source: Object, armature: Object) -> list[str]:
    """Add the takes of an armature object to another armature; both share the data-blocks.

    Returns:
        sentences that name what the rigs do not have in common.

    Raises:
        UserError: no bone has a name in common, or a take cannot be read; nothing has changed.
    """
    known = {item.stored for item in takes_of(armature)}
    copied = [item for item in takes_of(source) if item.stored not in known]
    if not copied:
        raise UserError(f"{armature.name} has all takes of {source.name} already.")
    sentences = []
    for item in copied:
        sentences += differences(item.name, read_take(item), source, armature)
    settings = take_settings_of(armature)
    for item in copied:
        added = settings.takes.add()
        for name in _COPIED:
            setattr(added, name, getattr(item, name))
        added.is_copied = True
    settings.active_take = len(settings.takes) - 1
    note_other_takes()
    takes = counted(len(copied), "take")
    return [f"Copied {takes} of {source.name} to {armature.name}.", *sentences]


def differences(name: str, take: Take, source: Object, armature: Object) -> list[str]:
    """The differences between a take and an armature object, as sentences."""
    skeleton = with_bendy_bones(read_skeleton(armature), armature)
    rows = node_names(skeleton)
    if not set(rows) & set(take.node_names):
        raise UserError(
            _REFUSAL_NO_BONES.format(armature=armature.name, take=name, source=source.name)
        )
    found = fitted(take, skeleton)
    deforming = deforming_bones(armature)
    still = [bone for bone in found.still if bone.partition(":")[0] in deforming]
    sentences = []
    if still:
        bones = f"{counted(len(still), 'bone')} of {armature.name}"
        verbs = ("is", "rests") if len(still) == 1 else ("are", "rest")
        text = f"{bones} {verbs[0]} not in {name} and {verbs[1]}: {listed(still)}."
        sentences.append(text)
    if found.lost:
        bones, verb = counted(len(found.lost), "bone"), "is" if len(found.lost) == 1 else "are"
        text = f"{bones} of {name} {verb} not in {armature.name}: {listed(found.lost)}."
        sentences.append(text)
    return sentences
