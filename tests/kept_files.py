"""New files and node trees that are made once in a test run and read again for every test.

To read a start file takes a tenth of a factory reset and gives the same: one scene, no objects, no
undo steps, no file path, and `load_pre` and `load_post` are called. To append a node tree takes a
thirtieth of the time in which the add-on builds it.

Blender 4.2 crashes in a factory reset after glTF and FBX imports when an object was appended from a
file before: so a human is never appended, it is part of its start file.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import bpy

from dq_compensation.modifier.nodes import own_trees
from human.model import Rig, build_from
from tests.human_body import human_arrays

Pair = tuple[bpy.types.Object, bpy.types.Object]


def new_file() -> None:
    """An empty file with one scene. References to what was in the file before are void."""
    new_file_from("empty", lambda: None)
    left = {
        name
        for name in ("objects", "meshes", "armatures", "actions", "node_groups")
        if len(getattr(bpy.data, name))
    }
    assert not left, f"the start file was changed: it has {left}"


def new_file_with_human(rig: Rig = "default", without: tuple[str, ...] = ()) -> Pair:
    """A file with the human of `models/` and one of its rigs, the armature active.

    Args:
        without: the parts that are left out, see `human_body`.

    Returns:
        the mesh object and the armature object.
    """
    name = "_".join(("human", rig, *without))
    new_file_from(name, lambda: build_from(human_arrays(rig, without)))
    return bpy.data.objects["Human"], bpy.data.objects["Human Rig"]


def new_file_from(name: str, build: Callable[[], object]) -> None:
    """A file with what `build` makes of an empty one; it is built once in a run, under `name`."""
    path = _folder() / f"{name}.blend"
    if not path.exists():
        bpy.ops.wm.read_factory_settings(use_empty=True)
        build()
        with _in_one_piece(path) as unfinished:
            bpy.ops.wm.save_as_mainfile(filepath=str(unfinished), copy=True)
    # Unlike `open_mainfile`, this leaves the file without a path, as a new file is.
    bpy.ops.wm.read_homefile(filepath=str(path), load_ui=False)


@contextmanager
def trees_built_once() -> Generator[None]:
    """While this is open, the second tree with a key is read from the file of the first."""
    new_with_key = own_trees.new_with_key

    def kept(key: str, build: Callable[[], bpy.types.NodeTree]) -> bpy.types.NodeTree:
        path = _folder() / f"tree_{hashlib.sha256(key.encode()).hexdigest()}.blend"
        names = path.with_suffix(".txt")
        if path.exists():
            return _appended_tree(path, names.read_text())
        tree = new_with_key(key, build)
        names.write_text(tree.name)
        with _in_one_piece(path) as unfinished:
            bpy.data.libraries.write(str(unfinished), {tree}, compress=True)
        return tree

    own_trees.new_with_key = kept
    try:
        yield
    finally:
        own_trees.new_with_key = new_with_key


def _appended_tree(path: Path, name: str) -> bpy.types.NodeTree:
    with bpy.data.libraries.load(str(path)) as (_, wanted):
        wanted.node_groups = [name]
    (tree,) = wanted.node_groups
    for library in [each for each in bpy.data.libraries if each.filepath == str(path)]:
        bpy.data.libraries.remove(library)
    return tree


@contextmanager
def _in_one_piece(path: Path) -> Generator[Path]:
    """A name to write to: other processes see the file when it is complete."""
    unfinished = path.with_name(f"{os.getpid()}_{path.name}")
    yield unfinished
    unfinished.replace(path)


def _folder() -> Path:
    # One for all processes of `scripts/run_tests.py`, or pytest's own.
    if "DQC_KEPT_FILES" not in os.environ:
        os.environ["DQC_KEPT_FILES"] = tempfile.mkdtemp(prefix="dqc_kept_")
    # Blenders of several versions may share the environment of one run.
    folder = Path(os.environ["DQC_KEPT_FILES"], bpy.app.version_string.replace(" ", "_"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
