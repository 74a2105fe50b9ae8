"""What the next Blender has for us, and what it takes away, by the newest stubs of its API.

The types are checked against the same stubs (`requirements/tools.txt`). When these are raised, the
first test says what is new; the second one what of ours is gone that the check of types does not
see: nodes, whose types are texts.
"""

from __future__ import annotations

import ast
import re

import bpy
import gpu

from environments import ENVIRONMENTS, PROJECT

# What could deform a character, or compute on the graphics card, by words of the API's names.
_OURS = re.compile(
    r"^GPU|Armature|Bone|Pose|Skin|Deform|Lattice|Palette|(Geometry|Function)NodeMatrix"
)
_NODES = re.compile(r"^(?:Geometry|Function|Shader)Node\w+$")

# New, and what it could be to us. Remove what `blender_version_min` has.
NEW = {
    # Storage buffers: data of the shaders goes through textures up to Blender 5.2.
    "GPUStorageBuf",
}


def stub_names(module: str) -> set[str]:
    """The classes of a module of the stubs, without those for checkers alone."""
    folder = next(ENVIRONMENTS["tools"].folder.glob("[Ll]ib/**/site-packages"))
    text = (folder / module / "types" / "__init__.pyi").read_text(encoding="utf-8")
    return set(re.findall(r"^class ([A-Za-z]\w*)", text, flags=re.MULTILINE))


def node_types() -> set[str]:
    """The types of nodes that the add-on names."""
    found = set[str]()
    for path in (PROJECT / "dq_compensation").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.update(_NODES.findall(node.value))
    return found


def test_what_the_next_blender_has_for_us_is_known() -> None:
    in_blender = {*dir(bpy.types), *dir(gpu.types)}
    new = (stub_names("bpy-stubs") | stub_names("gpu-stubs")) - in_blender
    assert {name for name in new if _OURS.search(name)} == NEW


def test_the_next_blender_has_the_nodes_that_we_use() -> None:
    used = node_types()
    assert len(used) > 20  # they were found
    assert used - stub_names("bpy-stubs") == set()
