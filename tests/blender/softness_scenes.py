"""What tests of Softness share: a soft limb, the same painted in, and what is compared.

Distances are in parts of the object's size. Nodes and weights are float32.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.scene.binding.soft_copy import soft_copy
from dq_compensation.scene.blender.mesh import read_weights
from dq_compensation.scene.blender.own_objects import LINEAR_COPY_PROPERTY, SOFT_COPY_PROPERTY
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.softness.softening import soften_copies
from tests.blender.enabled_scenes import check, distance, enabled_limb, error, rest_of
from tests.blender.scene_builders import evaluated_positions
from tests.kept_files import new_file
from tests.replaced_functions import replace_everywhere

Scene = tuple[bpy.types.Object, bpy.types.Object]

TOLERANCE = 1e-4
# What softness moves at least, where it acts: 1.3e-2 at most on the limb.
MOVED = 5e-3
AMOUNT = 0.5


def soft_limb() -> Scene:
    """A new file with the limb, enabled, posed and soft, and its armature."""
    new_file()
    obj, rig = enabled_limb()
    obj.dq_compensation.softness = AMOUNT
    return obj, rig


def size_of(obj: bpy.types.Object) -> float:
    return float((rest_of(obj).max(axis=0) - rest_of(obj).min(axis=0)).max())


def groups_of(obj: bpy.types.Object) -> list[object]:
    """Names and weights of all vertex groups, bit by bit."""
    read = read_weights(obj.data)
    # Weights that are taken away and given back may come in another order.
    order = np.lexsort((read.groups, read.vertices))
    written = [each[order].tobytes() for each in (read.vertices, read.groups, read.weights)]
    return [[group.name for group in obj.vertex_groups], *written]


def assert_soft(obj: bpy.types.Object) -> None:
    """It acts, and nodes, NumPy and *Soften Weights* at the same amount give the same.

    The object is painted in afterwards, with Softness 0.
    """
    before, size = groups_of(obj), size_of(obj)
    shown = evaluated_positions(obj)
    assert error(obj) <= TOLERANCE
    by_nodes = api.evaluate(obj, evaluator="MODIFIER")
    assert distance(by_nodes, shown, size) <= TOLERANCE
    amount = obj.dq_compensation.softness
    assert groups_of(obj) == before
    obj.dq_compensation.as_painted = True
    assert distance(evaluated_positions(obj), shown, size) > MOVED
    assert error(obj) <= TOLERANCE
    obj.dq_compensation.as_painted = False
    assert distance(evaluated_positions(obj), shown, size) <= TOLERANCE
    assert groups_of(obj) == before
    api.soften_weights(obj, amount=amount)
    assert obj.dq_compensation.softness == 0.0
    check()
    assert distance(evaluated_positions(obj), shown, size) <= TOLERANCE
    assert error(obj) <= TOLERANCE


def painted_in(obj: bpy.types.Object) -> None:
    """Assert that an object shows what the same weights painted in would show."""
    shown = evaluated_positions(obj)
    settings = obj.dq_compensation
    amount = settings.softness
    assert error(obj) <= TOLERANCE
    kept = groups_of(obj)
    api.soften_weights(obj, amount=amount)
    check()
    assert distance(evaluated_positions(obj), shown, size_of(obj)) <= TOLERANCE
    api.restore_weights(obj)
    settings.softness = amount
    check()
    assert groups_of(obj) == kept
    assert distance(evaluated_positions(obj), shown, size_of(obj)) <= TOLERANCE


def soft_copies() -> list[str]:
    """The names of all copies with soft weights, and of meshes that no object has."""
    kinds = {SOFT_COPY_PROPERTY, LINEAR_COPY_PROPERTY}
    copies = [obj.name for obj in bpy.data.objects if kinds & set(obj.keys())]
    return copies + [mesh.name for mesh in bpy.data.meshes if "soft weights" in mesh.name]


def copy_of(obj: bpy.types.Object) -> bpy.types.Object:
    """The soft copy, which is there."""
    copy = soft_copy(SkinnedObject(obj))
    assert copy is not None
    return copy


def counted_computations(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often soft weights are computed from now on, by the names of the objects."""
    computed: Counter[str] = Counter()

    def counted(
        records: Mapping[bpy.types.Object, dict[str, Any]],
        fixed: Sequence[bpy.types.Object],
        **options: bool,
    ) -> object:
        computed.update(obj.name for obj in records)
        return soften_copies(records, fixed, **options)

    replace_everywhere(monkeypatch, soften_copies, counted)
    return computed


Change = Callable[[bpy.types.Object, bpy.types.Object], None]
