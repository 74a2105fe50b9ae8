"""Objects of this file whose mesh is linked: instances made real, overrides made local.

The right shapes are those in the character's own file, or what NumPy says; distances are in parts
of the object's size, and 1e-4 is what all evaluators promise.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bpy
import numpy as np
import pytest
from bpy.types import Object
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.lifecycle.enabling import notes_of, problem_of
from tests.blender.enabled_scenes import check, distance, error, ours, select
from tests.blender.libraries import collected, load_collection, overridden
from tests.blender.scene_builders import evaluated_positions, new_file, save_and_open
from tests.limb import build_limb, pose_limb

TOLERANCE = 1e-4
LOOKS: tuple[dict[str, object], ...] = ({}, {"softness": 0.5}, {"method": "SPHERICAL_JOINT"})

pytestmark = pytest.mark.usefixtures("addon")


class Library:
    """A limb in a file of its own, which the new file links.

    Attributes:
        collection: it is in no scene.
        plain, ours: the shapes of `pose_limb`, by the Armature modifier alone and by the add-on.
    """

    def __init__(self, folder: Path, look: dict[str, object] | None) -> None:
        limb, rig = build_limb()
        collected("Character", limb, rig)
        pose_limb(rig)
        bpy.context.view_layer.update()
        self.plain = evaluated_positions(limb)
        if look is not None:
            api.enable(limb, **look)
        self.ours = evaluated_positions(limb)
        pose_limb(rig, bend=0.0, twist=0.0)
        self.path = folder / "library.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(self.path))
        new_file()
        self.collection = load_collection(self.path, "Character")
        bpy.context.scene.collection.children.unlink(self.collection)

    def make_real(self, *, with_parents: bool) -> None:
        """Add an instance and make it real."""
        empty = bpy.data.objects.new("Instance", None)
        empty.instance_type, empty.instance_collection = "COLLECTION", self.collection
        empty.location, empty.scale = (1.0, 2.0, 3.0), (2.0, 2.0, 2.0)
        bpy.context.scene.collection.objects.link(empty)
        bpy.context.view_layer.update()
        select(empty)
        bpy.ops.object.duplicates_make_real(
            use_base_parent=with_parents, use_hierarchy=with_parents
        )
        bpy.context.view_layer.update()


def limbs() -> list[Object]:
    """The meshes in the scene; they are evaluated."""
    check()
    return [each for each in bpy.context.scene.objects if each.type == "MESH"]


def posed() -> Iterator[Object]:
    """The same, in the pose of `pose_limb`."""
    for obj in limbs():
        pose_limb(obj.modifiers["Armature"].object)
    bpy.context.view_layer.update()
    yield from limbs()


def make_local(kind: str) -> None:
    select(*bpy.context.scene.objects)
    bpy.ops.object.make_local(type=kind)


def said_of(obj: Object) -> list[str]:
    """What the panel and Setup Check say of it, but for remarks."""
    issues = [each.message for each in api.check(obj) if each.severity != "INFORMATION"]
    return [*filter(None, (problem_of(obj),)), *notes_of(obj), *issues]


def assert_is(obj: Object, wanted: NDArray[np.float32]) -> None:
    assert distance(evaluated_positions(obj), wanted) <= TOLERANCE


@pytest.mark.parametrize(
    ("look", "with_parents"), [(LOOKS[0], False), *((look, True) for look in LOOKS)]
)
def test_an_instance_made_real_is_as_in_its_own_file(
    tmp_path: Path, look: dict[str, object], with_parents: bool
) -> None:
    library = Library(tmp_path, look)
    for _ in range(2):
        library.make_real(with_parents=with_parents)
    assert len(limbs()) == 2
    for obj in posed():
        assert obj.library is None
        assert obj.data.library is not None
        assert_is(obj, library.ours)
        assert not said_of(obj)
    save_and_open(tmp_path / "shot.blend")
    for obj in limbs():
        assert_is(obj, library.ours)
    make_local("SELECT_OBDATA")
    for obj in limbs():
        assert obj.data.library is None
        assert_is(obj, library.ours)
        assert not said_of(obj)


def test_an_instance_made_real_gets_other_settings_and_is_disabled(tmp_path: Path) -> None:
    library = Library(tmp_path, {})
    library.make_real(with_parents=True)
    (obj,) = posed()
    for settings in ({"method": "SPHERICAL_JOINT"}, {"method": "COMPENSATED", "softness": 0.4}):
        api.enable(obj, **settings)
        assert error(obj) <= TOLERANCE
    select(obj)
    bpy.ops.dqc.disable()
    assert_is(obj, library.plain)
    api.enable(obj, softness=0.0)
    assert_is(obj, library.ours)
    assert problem_of(obj) is None


def test_the_library_may_be_edited_later(tmp_path: Path) -> None:
    """The mesh here follows what its file says now."""
    library = Library(tmp_path, {})
    library.make_real(with_parents=True)
    next(posed())
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(library.path))
    obj = bpy.data.objects["Limb"]
    obj.data.transform(((1, 0, 0, 0), (0, 1.3, 0, 0), (0, 0, 1.3, 0), (0, 0, 0, 1)))
    check()
    pose_limb(obj.parent)
    bpy.context.view_layer.update()
    wanted = evaluated_positions(obj)
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    (here,) = limbs()
    assert distance(library.ours, wanted) > 0.03
    assert_is(here, wanted)


def test_a_mesh_that_was_never_enabled_in_its_file_is_enabled_here(tmp_path: Path) -> None:
    library = Library(tmp_path, None)
    library.make_real(with_parents=True)
    (obj,) = posed()
    select(obj)
    bpy.ops.dqc.enable()
    assert distance(evaluated_positions(obj), library.plain) > 1e-3
    assert error(obj) <= TOLERANCE
    assert not any(name.startswith("dq_compensation") for name in obj.data.keys())  # noqa: SIM118


@pytest.mark.parametrize("kind", ["SELECT_OBJECT", "SELECT_OBDATA", "ALL"])
def test_an_override_that_does_not_fit_is_deformed_once_it_is_local(
    tmp_path: Path, kind: str
) -> None:
    """Our modifier, and the Armature modifier that stood in for it, were off together then."""
    library = Library(tmp_path, {})
    bpy.context.scene.collection.children.link(library.collection)
    obj, rig = overridden(library.collection)
    pose_limb(rig)
    obj.dq_compensation.method = "SPHERICAL_JOINT"
    bpy.context.view_layer.update()
    assert "make the mesh local" in str(problem_of(obj))
    assert_is(obj, library.plain)
    assert not ours(obj).show_viewport
    # The one sentence does not ask for the reverse of the other.
    assert not any("turn" in each.lower() for each in said_of(obj))
    wanted = api.evaluate(obj, method="SPHERICAL_JOINT")
    make_local(kind)
    check()
    assert obj.library is None
    assert obj.override_library is None
    assert_is(obj, wanted)
    assert not said_of(obj)


def test_a_hook_by_numbers_behind_a_linked_mesh_is_refused(tmp_path: Path) -> None:
    """Its vertex group cannot be written; as numbers it would move other vertices."""
    library = Library(tmp_path, None)
    library.make_real(with_parents=True)
    (obj,) = posed()
    hook = obj.modifiers.new("Hook", "HOOK")
    hook.object = bpy.data.objects["Instance"]
    hook.vertex_indices_set([0, 1])
    select(obj)
    before = [each.name for each in obj.modifiers]
    with pytest.raises(RuntimeError, match=r"Hook of Limb moves vertices.*Make Local"):
        bpy.ops.dqc.enable()
    assert [each.name for each in obj.modifiers] == before
    make_local("SELECT_OBDATA")
    bpy.ops.dqc.enable()
    assert problem_of(obj) is None
