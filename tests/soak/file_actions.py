"""What users do to the file, and to the program."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import bpy

import dq_compensation
from dq_compensation.scene.blender.own_objects import is_hidden
from tests.blender.character_scenes import dressed_limb
from tests.blender.enabled_scenes import select
from tests.limb import build_bendy_limb, build_limb, pose_limb
from tests.soak.choosing import Action, any_mesh, is_crowded, object_mode
from tests.soak.invariants import disable_everything, leftovers

# Actions that leave no undo step of their own.
NO_STEP = ("undo", "save", "new file")


def start() -> None:
    """Three enabled characters that move: with a take, with bendy bones, in three meshes."""
    _, rig = build_limb("Arm")
    _move(rig)
    bpy.ops.dqc.enable()
    bpy.ops.dqc.take_cache(first=1, last=4, tolerance=5.0)
    _, bendy = build_bendy_limb(3)
    bendy.location.y = 1.0
    _move(bendy)
    bpy.ops.dqc.enable()
    meshes, rig = dressed_limb()
    rig.location.y = 2.0
    _move(rig)
    for obj in meshes:
        obj.dq_compensation.softness, obj.dq_compensation.twist_spread = 0.3, 1.0
    bpy.ops.dqc.enable()
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 6


def _move(rig: bpy.types.Object) -> None:
    for number, bend in ((1, 0.2), (6, 1.2)):
        pose_limb(rig, bend)
        for bone in rig.pose.bones:
            bone.keyframe_insert("rotation_euler", frame=number)


def frame(rng: Random) -> str:
    """Go to another frame."""
    chosen = rng.randint(1, 6)
    bpy.context.scene.frame_set(chosen)
    return f"frame {chosen}"


def mode(rng: Random) -> str | None:
    """Go to another mode and back."""
    obj = any_mesh(rng)
    if obj is None or not obj.visible_get():
        return None
    object_mode()
    select(obj)
    chosen = rng.choice(("EDIT", "WEIGHT_PAINT", "SCULPT"))
    if chosen == "SCULPT" and not obj.data.polygons:
        # Blender 4.2 and 4.5 end there when a Multiresolution modifier has levels.
        return None
    bpy.ops.object.mode_set(mode=chosen)
    bpy.context.view_layer.update()
    bpy.ops.object.mode_set(mode="OBJECT")
    return f"{chosen} and back on {obj.name}"


def new_character(rng: Random) -> str | None:
    """Add another limb."""
    if is_crowded():
        return None
    object_mode()
    _, rig = build_limb("More")
    _move(rig)
    return "new character"


def undo(rng: Random) -> str:
    """Undo a few steps, and perhaps redo some."""
    done = rng.randint(1, 3)
    for _ in range(done):
        if bpy.ops.ed.undo.poll():
            bpy.ops.ed.undo()
    redone = rng.randint(0, done)
    for _ in range(redone):
        if bpy.ops.ed.redo.poll():
            bpy.ops.ed.redo()
    return f"undo {done}, redo {redone}"


def _with_a_saved_copy(act: Callable[[str], str]) -> str:
    """Act with the path of a copy of the file."""
    object_mode()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "soak.blend"))
        bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
        return act(path)


def save_and_open(rng: Random) -> str:
    """Save the file and open it again."""

    def open_it(path: str) -> str:
        bpy.ops.wm.open_mainfile(filepath=path, load_ui=False)
        return "save and open"

    return _with_a_saved_copy(open_it)


def append(rng: Random) -> str | None:
    """Append an object of the file to the file, with all that belongs to it."""
    obj = any_mesh(rng)
    if obj is None or is_crowded():
        return None
    name = obj.name

    def append_it(path: str) -> str:
        with bpy.data.libraries.load(path, link=False) as (_, wanted):
            wanted.objects = [name]
        for new in wanted.objects:
            bpy.context.scene.collection.objects.link(new)
        return f"append {name}"

    return _with_a_saved_copy(append_it)


def link(rng: Random) -> str | None:
    """Link an object of the file into a new one, and override it."""
    obj = any_mesh(rng)
    if obj is None:
        return None
    name = obj.name

    def link_it(path: str) -> str:
        begin_again(rng)
        with bpy.data.libraries.load(path, link=True) as (_, wanted):
            wanted.objects = [name]
        (new,) = wanted.objects
        bpy.context.scene.collection.objects.link(new)
        bpy.context.view_layer.update()
        if rng.random() < 0.5:
            new.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
        elif rng.random() < 0.5:
            new.make_local()
        return f"new file, link {name}"

    return _with_a_saved_copy(link_it)


def new_scene(rng: Random) -> str:
    """Go to another scene with the same objects and back, or remove it."""
    scene = bpy.context.scene
    object_mode()
    bpy.ops.scene.new(type="LINK_COPY")
    bpy.context.view_layer.update()
    bpy.context.scene.frame_set(rng.randint(1, 6))
    bpy.ops.scene.delete()
    return f"another scene than {scene.name}" if scene else "another scene"


def addon_off_and_on(rng: Random) -> str:
    """Disable the add-on, change something without it, and enable it again."""
    object_mode()
    dq_compensation.unregister()
    obj = any_mesh(rng)
    if obj is not None and len(obj.data.vertices):
        obj.data.vertices[0].co.z += 0.05
        obj.data.update()
    bpy.context.view_layer.update()
    dq_compensation.register()
    return "add-on off and on"


def take_away(rng: Random) -> str:
    """Disable everything, and enable one character again."""
    object_mode()
    disable_everything()
    found = leftovers()
    assert not found, found
    obj = any_mesh(rng)
    if obj is not None and obj.visible_get():
        select(obj)
        if bpy.ops.dqc.enable.poll():
            bpy.ops.dqc.enable()
    return "disable everything"


def begin_again(rng: Random) -> str:
    """Begin with another file: after many actions few characters can be enabled."""
    object_mode()
    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True, load_ui=False)
    start()
    return "new file"


def purge(rng: Random) -> str:
    """Remove what nobody uses."""
    bpy.ops.outliner.orphans_purge(do_recursive=True)
    return "purge"


def delete_hidden(rng: Random) -> str:
    """Delete one of the objects that the add-on keeps in no collection."""
    hidden = [obj for obj in bpy.data.objects if is_hidden(obj) and obj.library is None]
    if hidden:
        bpy.data.objects.remove(rng.choice(hidden))
    return "delete a hidden object"


FILE_ACTIONS: tuple[tuple[int, Action], ...] = (
    (6, frame),
    (4, mode),
    (1, new_character),
    (8, undo),
    (2, save_and_open),
    (1, append),
    (1, link),
    (1, new_scene),
    (1, addon_off_and_on),
    (1, purge),
    (1, delete_hidden),
    (1, take_away),
    (2, begin_again),
)
