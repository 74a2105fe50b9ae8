"""Writes weights for a fix: whether they can be changed, and what else changes with them."""

from __future__ import annotations

from collections.abc import Generator, Iterable

import bpy
import numpy as np

from ...arrays import Floats, Integers
from ...errors import raise_refusal
from ...scene.blender.mesh import mesh_of, other_users
from ...scene.vertex_groups import write_rows, writing_refusal
from ...wording import counted
from ..issue import FixError


def require_writable(obj: bpy.types.Object, groups: Iterable[str]) -> None:
    """Raise FixError if the weights of these groups cannot be written."""
    raise_refusal(writing_refusal(obj, groups), FixError)


def write_weights(
    obj: bpy.types.Object, vertices: Integers, groups: Integers, weights: Floats
) -> Generator[None, None, None]:
    """Set single weights, shape (m,) each, behind the `yield`; FixError where it is impossible."""
    require_writable(obj, [obj.vertex_groups[int(group)].name for group in np.unique(groups)])
    yield
    write_rows(obj, vertices, groups, weights)


def sharing_question(obj: bpy.types.Object, question: str = "") -> str:
    """A question, if there is one, and what a change of weights does to other objects.

    Empty when there is nothing to ask.
    """
    mesh = mesh_of(obj)
    others = other_users(mesh)
    if others <= 0:
        return question
    objects = counted(others, "other object")
    return f"{question} {mesh.name} is shared with {objects}, whose weights change as well.".strip()
