"""Names of helper bones: after the joint and its side, so that Blender finds the other side's."""

from __future__ import annotations

import re
from collections.abc import Container

from ...bake.key_names import MAX_BYTES
from ...scene.blender.bone_names import flipped_name

# Before the letters of a side at the end of a name.
_SEPARATORS = "._- "
_SIDE_BEFORE = re.compile(r"^(left|right|[lr](?=[._ -]))[._ -]?", re.IGNORECASE)
# Of Rigify's bones: what has such a prefix counts as Rigify's own.
_RIG_PREFIXES = re.compile("^(DEF-)?(ORG-)?(MCH-)?")


def helper_name(bones: tuple[str, ...], ending: str, taken: Container[str]) -> str:
    """The name of a helper: `forearm_helper1.L` at `forearm.L`.

    The side stays where the name has it: `LeftForeArm_helper1` at `LeftForeArm`. Of two bones the
    side is that of the first one that has any; between the sides there is none.

    Args:
        bones: one name; or two names, of a helper that is not at a joint of a bone and the next.
        ending: `helper1` there.
        taken: names that cannot be used.
    """
    names = [_RIG_PREFIXES.sub("", bone) for bone in bones]
    names.sort(key=lambda name: name == flipped_name(name))
    stem, side = split_side(names[0])
    others = names[1:]
    if [name for name in others if name == flipped_name(names[0])]:
        stem, side = _without_side(names[0]), ""
    stem = "_".join((stem, *map(_without_side, others)))
    count = 0
    while True:
        tail = f"_{ending}{f'_{count}' if count else ''}".encode()
        room = MAX_BYTES - len(tail) - len(side.encode())
        name = stem.encode()[:room].decode(errors="ignore") + tail.decode() + side
        if name not in taken:
            return name
        count += 1


def in_mirrored_order(one: str, other: str) -> tuple[str, str]:
    """Two bones in an order by which the other side's bones are ordered alike."""
    first, second = sorted((one, other), key=lambda name: (min(name, flipped_name(name)), name))
    return first, second


def _without_side(name: str) -> str:
    """A name without its side, at the start or the end."""
    stem, side = split_side(name)
    if side or name == flipped_name(name):
        return stem
    return _SIDE_BEFORE.sub("", name) or name


def split_side(name: str) -> tuple[str, str]:
    """A name as stem and the ending that says its side; empty for sides elsewhere, or none.

    The other side's bone has the stem and the other ending: `arm` and `.L` of `arm.L`.
    """
    flipped = flipped_name(name)
    same = 0
    while same < min(len(name), len(flipped)) and name[same] == flipped[same]:
        same += 1
    # The letters of the side and the separator before them, at the end of the name.
    start = max(same - 1, 0)
    stem, side = name[:start], name[start:]
    if name == flipped or not stem or side[0] not in _SEPARATORS or flipped_name(stem) != stem:
        return name, ""
    return stem, side
