"""Tells which bindings are of equal meshes on equal rigs: copies of one character."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from weakref import WeakKeyDictionary

import numpy as np

from ...core.skeleton import Skeleton
from .binding import Binding
from .content import digest

# What copies of a character do not have in common.
_OWN = frozenset(
    ("object_name", "object_uid", "mesh_uid", "armature_name", "armature_uid")
    + ("object_to_armature", "structure")
)

_digests: WeakKeyDictionary[Binding | Skeleton, str] = WeakKeyDictionary()


def twin_digest(value: Binding | Skeleton) -> str:
    """A text that is equal for bindings, or skeletons, with all in common but names and places."""
    if value not in _digests:
        _digests[value] = digest(*_parts(value))
    return _digests[value]


def _parts(value: object) -> Iterator[object]:
    """The arrays and plain values in a dataclass, in a fixed order."""
    if is_dataclass(value):
        for each in fields(value):
            if each.init and each.name not in _OWN:
                yield from _parts(getattr(value, each.name))
    elif isinstance(value, np.ndarray) or not callable(value):
        yield value
    else:
        # Modifiers that are followed belong to one object.
        yield id(value)
