"""Handlers of other add-ons, which Blender calls after ours."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import pytest

from tests.blender.enabled_scenes import check, enabled_limb

LISTS = ("objects", "meshes", "armatures", "node_groups")


@pytest.fixture
def gone(addon: None) -> Iterator[list[str]]:
    """The names of what Blender says it has evaluated, but what is not in the file any more.

    To read anything of it is to read freed memory: the handler compares addresses.
    """
    found: list[str] = []

    def read(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
        alive = {data.as_pointer() for name in LISTS for data in getattr(bpy.data, name)}
        kinds = (bpy.types.Object, bpy.types.Mesh, bpy.types.Armature, bpy.types.NodeTree)
        found.extend(
            update.id.name
            for update in depsgraph.updates
            if isinstance(update.id, kinds) and update.id.original.as_pointer() not in alive
        )

    bpy.app.handlers.depsgraph_update_post.append(read)
    yield found
    bpy.app.handlers.depsgraph_update_post.remove(read)


@pytest.mark.parametrize("methods", [("SPHERICAL_JOINT", "LINEAR", "COMPENSATED")])
def test_find_nothing_that_we_have_removed_before(gone: list[str], methods: tuple[str]) -> None:
    obj, rig = enabled_limb()
    for method in methods:
        obj.dq_compensation.method = method
        bpy.context.view_layer.update()
    bpy.data.objects.remove(rig)
    bpy.context.view_layer.update()
    check()
    assert gone == []
