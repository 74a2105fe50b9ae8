"""Times whole frames of scenes as people have them, against the same scene with Preserve Volume.

    .venv-5.2/bin/python scripts/run.py benchmarks.scenes [SCENE ...]

SCENE is one of: rigify, objects, humans, soft, soft_game, keys, subdivided, subdivided2, linked,
masked, robot, unsubdivided, and the characters of `human.imported`: game, nine, avatar, performer,
anime, each also with `_soft`; game_scaled, which is game_soft with a scaled bone; all of them
without one. Add `--rounds 9` for steadier numbers, `--work` to compare the time that the processor
spends, where other processes keep it busy.

Everything counts: Blender's evaluation and the add-on's Python. In one scene the character is
disabled and enabled in turn, and the same frames are timed, of which the quickest one counts: other
load on the machine adds to long frames, not to short ones. A ratio is the median over all pairs.
*frame_set* sets frames as a script or a render does, *playback* as the timeline does while it
plays, *pose* turns one bone, as while it is dragged. *Python* is what the add-on's handlers take of
a frame, its *share* in parts of the frame with Preserve Volume. Edits are what a stroke costs that
changes one weight, and a new name of a bone.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import bpy

import bmesh  # isort: skip  (bpy brings it)
import numpy as np
from mathutils import Matrix

import dq_compensation
from benchmarks.targets import record
from dq_compensation import api
from dq_compensation.session import changes
from human.imported import anime, avatar, nine_by_height, performer, round_bones
from human.model import Rig, build_human
from tests.limb import build_limb
from tests.rigify_human import build_rigify_human

Object = bpy.types.Object
seconds_now: Callable[[], float] = time.perf_counter
FRAMES = 12
FRAME_SET, PLAYBACK, POSE = "frame_set", "playback", "pose one bone"
# Python in a frame, in parts of the same frame with Preserve Volume: milliseconds would be those of
# one machine. It is 0.03 for 20 humans, whose frame is Blender's work, to 0.23 for a Rigify human.
PYTHON = {FRAME_SET: 0.3, PLAYBACK: 0.3}
WEIGHT, RENAME = "edit one weight", "rename a bone"


@dataclass(frozen=True)
class Character:
    """What is enabled in a scene, and what is posed."""

    meshes: Sequence[Object]
    rig: Object
    bone: str


@dataclass(frozen=True)
class Scene:
    """A scene to measure.

    Attributes:
        build: makes it in the current, empty file.
        targets: ratios, by what is done.
        edits: ratios, by what is edited.
    """

    title: str
    build: Callable[[], Character]
    targets: dict[str, float] = field(default_factory=dict)
    edits: dict[str, float] = field(default_factory=dict)


def animate(rig: Object, names: Sequence[str], *, seed: int = 0) -> None:
    """Turn these bones to and fro, with a key on every tenth frame."""
    rng = np.random.default_rng(seed)
    for name in names:
        bone = rig.pose.bones[name]
        bone.rotation_mode = "XYZ"
        for frame in range(1, FRAMES + 12, 10):
            bone.rotation_euler = rng.uniform(-0.4, 0.4, 3).tolist()
            bone.keyframe_insert("rotation_euler", frame=frame)


def rigify() -> Character:
    """The human on Rigify's rig, an action on its controls."""
    human, rig = build_rigify_human()
    animate(rig, [f"{name}{side}" for name in ("hand_ik", "foot_ik") for side in (".L", ".R")])
    animate(rig, ["chest", "hips", "torso"], seed=1)
    return Character([human], rig, "upper_arm_fk.L")


def among_objects(count: int = 2000) -> Character:
    """One limb among so many animated objects; a shape key of one of them is animated, too."""
    limb, rig = build_limb()
    animate(rig, ["Lower", "Hand"])
    mesh = bpy.data.meshes.new("Cube")
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], (), [(0, 1, 2)])
    action = None
    for number in range(count):
        obj = bpy.data.objects.new(f"Thing {number}", mesh)
        bpy.context.scene.collection.objects.link(obj)
        obj.location.x = number
        obj.keyframe_insert("location", frame=1)
        obj.location.z = 1.0
        obj.keyframe_insert("location", frame=FRAMES)
        action = action or obj.animation_data.action
        obj.animation_data.action = action
    keyed = bpy.data.objects.new("Keyed", mesh.copy())
    bpy.context.scene.collection.objects.link(keyed)
    keyed.shape_key_add(name="Basis")
    key = keyed.shape_key_add(name="Other")
    _key_values([key])
    return Character([limb], rig, "Lower")


def humans(count: int = 20) -> Character:
    """So many humans, each with an armature and an action of its own."""
    human, rig = build_human("game_engine")
    bones = ("lowerarm_l", "upperarm_l", "calf_r", "thigh_r", "spine_02")
    animate(rig, bones)
    meshes = [human]
    for number in range(1, count):
        twin, copy = human.copy(), rig.copy()
        twin.data, copy.data = human.data.copy(), rig.data.copy()
        for obj in (copy, twin):
            bpy.context.scene.collection.objects.link(obj)
        twin.parent, twin.modifiers["Armature"].object = copy, copy
        copy.location.x = number
        meshes.append(twin)
    return Character(meshes, rig, "lowerarm_l")


def soft_with_twist(rig_name: Rig, bones: Sequence[str]) -> Character:
    """The human with the settings of the preset *Soft with Twist*."""
    human, rig = build_human(rig_name)
    animate(rig, bones)
    human.dq_compensation.softness, human.dq_compensation.twist_spread = 0.5, 1.0
    return Character([human], rig, bones[0])


def imported(
    build: Callable[[], tuple[Object, list[Object]]], *, soft: bool, scaled: bool = False
) -> Character:
    """A character as of `human.imported`, all of whose bones have keys.

    Its head is larger than at rest if wanted.
    """
    rig, meshes = build()
    round_bones(rig)
    animate(rig, rig.data.bones.keys())
    if scaled:
        rig.pose.bones["head"].scale = (1.2, 1.2, 1.2)
    if soft:
        for mesh in meshes:
            mesh.dq_compensation.softness, mesh.dq_compensation.twist_spread = 0.5, 1.0
    return Character(meshes, rig, "lowerarm_l")


def game_human() -> tuple[Object, list[Object]]:
    """The human on a game rig, in one mesh."""
    human, rig = build_human("game_engine")
    return rig, [human]


def masked() -> Character:
    """The human whose Armature modifier acts in part on every vertex."""
    human, rig = build_human("game_engine")
    animate(rig, ("lowerarm_l", "upperarm_l", "calf_r", "thigh_r", "spine_02"))
    mask = human.vertex_groups.new(name="Mask")
    for part in range(10):
        rows = range(part, len(human.data.vertices), 10)
        mask.add(rows, 0.05 + 0.1 * part, "REPLACE")
    human.modifiers["Armature"].vertex_group = "Mask"
    return Character([human], rig, "lowerarm_l")


def with_keys(levels: int = 0) -> Character:
    """The human with 52 animated shape keys; subdivided after the Armature modifier if wanted."""
    human, rig = build_human("game_engine")
    animate(rig, ["lowerarm_l", "calf_r"])
    human.shape_key_add(name="Basis")
    points = np.empty(3 * len(human.data.vertices), np.float32)
    human.data.vertices.foreach_get("co", points)
    rng = np.random.default_rng(0)
    keys = []
    for number in range(52):
        key = human.shape_key_add(name=f"Key {number}")
        moved = points.reshape(-1, 3).copy()
        moved[rng.integers(0, len(moved), 500)] += 0.01
        key.points.foreach_set("co", moved.ravel())
        keys.append(key)
    _key_values(keys)
    if levels:
        human.modifiers.new("Subdivision", "SUBSURF").levels = levels
    return Character([human], rig, "lowerarm_l")


def _key_values(keys: Sequence[bpy.types.ShapeKey]) -> None:
    for number, key in enumerate(keys):
        for frame in (1, FRAMES):
            key.value = 0.3 if (frame + number) % 2 else 0.0
            key.keyframe_insert("value", frame=frame)


def linked() -> Character:
    """A human that is enabled in another file, linked with an override."""
    human, rig = build_human("game_engine")
    animate(rig, ["lowerarm_l", "calf_r"])
    collection = bpy.data.collections.new("Character")
    bpy.context.scene.collection.children.link(collection)
    for obj in (human, rig):
        collection.objects.link(obj)
        bpy.context.scene.collection.objects.unlink(obj)
    api.enable(human)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "character.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        bpy.ops.wm.read_factory_settings(use_empty=True)
        with bpy.data.libraries.load(path, link=True) as (_, wanted):
            wanted.collections = ["Character"]
        found = wanted.collections[0]
        bpy.context.scene.collection.children.link(found)
        scene, layer = bpy.context.scene, bpy.context.view_layer
        found.override_hierarchy_create(scene, layer, do_fully_editable=True)
        local = [obj for obj in bpy.data.objects if obj.library is None]
    bpy.context.view_layer.update()
    (mesh,) = (obj for obj in local if obj.type == "MESH" and obj.name.startswith("Human"))
    (rig,) = (obj for obj in local if obj.type == "ARMATURE")
    return Character([mesh], rig, "lowerarm_l")


def robot(bones: int = 20, *, modified: bool = False) -> Character:
    """A chain of boxes, each on one bone; behind a Subdivision of level 0 if wanted."""
    armature = bpy.data.armatures.new("Robot Rig")
    rig = bpy.data.objects.new("Robot Rig", armature)
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    for number in range(bones):
        bone = armature.edit_bones.new(f"Part {number}")
        bone.head, bone.tail = (0.0, 0.0, number), (0.0, 0.0, number + 1.0)
        bone.parent = armature.edit_bones[number - 1] if number else None
    bpy.ops.object.mode_set(mode="OBJECT")
    boxes = bmesh.new()
    for number in range(bones):
        place = Matrix.Translation((0.0, 0.0, number + 0.5))
        bmesh.ops.create_cube(boxes, size=0.8, matrix=place)
    bmesh.ops.subdivide_edges(boxes, edges=boxes.edges[:], cuts=7, use_grid_fill=True)
    mesh = bpy.data.meshes.new("Robot")
    boxes.to_mesh(mesh)
    boxes.free()
    obj = bpy.data.objects.new("Robot", mesh)
    bpy.context.scene.collection.objects.link(obj)
    obj.parent = rig
    heights = np.array([vertex.co.z for vertex in mesh.vertices])
    for number, bone in enumerate(armature.bones):
        rows = np.flatnonzero(heights.astype(int) == number)
        obj.vertex_groups.new(name=bone.name).add(rows.tolist(), 1.0, "REPLACE")
    if modified:
        subdivision = obj.modifiers.new("Subdivision", "SUBSURF")
        subdivision.levels = subdivision.render_levels = 0
    obj.modifiers.new("Armature", "ARMATURE").object = rig
    names = armature.bones.keys()
    animate(rig, names[1:])
    return Character([obj], rig, names[3])


# Nothing is much below what rig, palette and fetching take: with trees of meshes that fetch
# everything and compute nothing, Rigify takes 2.2, 20 humans 2.1 and 2.5 where one is posed, Soft
# with Twist 3.4 and 3.9. Targets are a tenth above, where a former one was less. An edited
# weight takes 54 ms of Python: 6 are weights that Blender gives one vertex at a time, two fifths
# limbs and joints, the rest is other reading, writing, and the record of it. A new name finds
# nothing again: two fifths of its time are writing, the rest reading and comparing.
RIGIFY = {FRAME_SET: 2.4, PLAYBACK: 2.4, POSE: 1.9}
KEYED = {FRAME_SET: 2.5, PLAYBACK: 2.5, POSE: 2.5}
TWICE = {FRAME_SET: 2.0, PLAYBACK: 2.0, POSE: 2.0}
HUMANS = {FRAME_SET: 2.3, PLAYBACK: 2.3, POSE: 2.7}
MASKED = dict.fromkeys(TWICE, 3.4)
IDLE = {FRAME_SET: 1.1, PLAYBACK: 1.1}
SCENES = {
    "rigify": Scene("Rigify human", rigify, RIGIFY, {WEIGHT: 32.5, RENAME: 10.2}),
    "objects": Scene(
        "Limb among 2,000 animated objects, one of them with an animated key",
        among_objects,
        {FRAME_SET: 1.1, PLAYBACK: 1.05, POSE: 1.1},
    ),
    "humans": Scene("20 humans", humans, HUMANS),
    "soft": Scene(
        "Human, Soft with Twist",
        lambda: soft_with_twist("default", ("lowerarm01.L", "upperarm01.L", "upperleg01.R")),
        {PLAYBACK: 3.7},
    ),
    "soft_game": Scene(
        "Human on a game rig, Soft with Twist",
        lambda: soft_with_twist("game_engine", ("lowerarm_l", "upperarm_l", "thigh_r")),
        {PLAYBACK: 4.3},
    ),
    "keys": Scene("52 animated keys", with_keys, KEYED),
    "subdivided": Scene("52 animated keys, Subdivision 1 after", lambda: with_keys(1), TWICE),
    "subdivided2": Scene("52 animated keys, Subdivision 2 after", lambda: with_keys(2), TWICE),
    "robot": Scene("Robot", robot, IDLE),
    "unsubdivided": Scene(
        "Robot behind Subdivision at level 0",
        lambda: robot(modified=True),
        dict.fromkeys(IDLE, 1.3),
    ),
    "masked": Scene("Masked human", masked, MASKED),
    "linked": Scene("Linked human with an override", linked, dict.fromkeys(TWICE, 1.5)),
}
# As people have them, all bones keyed. Targets as painted, and *Soft with Twist*: played and posed.
# Trees of nine meshes that copy a position each take 0.3 ms; the rest is what meshes compute.
Build = Callable[[], tuple[Object, list[Object]]]
IMPORTED: dict[str, tuple[str, Build, tuple[float, float], tuple[float, float]]] = {
    "game": ("Human on a game rig", game_human, (2.5, 3.1), (3.2, 3.6)),
    "nine": ("The same in 9 meshes", nine_by_height, (3.1, 3.3), (3.2, 3.6)),
    "avatar": ("Avatar, 9 meshes, 67 bones", avatar, (3.4, 4.0), (3.7, 3.7)),
    "performer": ("Performer, one mesh, 75 bones", performer, (3.6, 4.1), (3.7, 3.7)),
    "anime": ("Anime character, 15 meshes, 140 bones", anime, (3.1, 3.9), (4.2, 4.2)),
}
for name, (title, build, painted, soft) in IMPORTED.items():
    for look, ending, (played, posed) in (
        ("As Painted", "", painted),
        ("Soft with Twist", "_soft", soft),
    ):
        SCENES[name + ending] = Scene(
            f"{title}: {look}",
            partial(imported, build, soft=bool(ending)),
            {PLAYBACK: played, POSE: posed},
        )
SCENES["game_scaled"] = Scene(
    "Human on a game rig, its head larger: Soft with Twist",
    partial(imported, game_human, soft=True, scaled=True),
    {PLAYBACK: 4.1, POSE: 4.3},
)


class Clock:
    """Times the add-on's handlers, as they are registered now."""

    def __init__(self) -> None:
        self.seconds = 0.0
        for event in ("depsgraph_update_post", "frame_change_post", "frame_change_pre"):
            handlers = getattr(bpy.app.handlers, event)
            handlers[:] = [self._timed(handler) for handler in handlers]

    def _timed(self, handler: Callable[..., None]) -> Callable[..., None]:
        @bpy.app.handlers.persistent
        def call(*arguments: object) -> None:
            begun = seconds_now()
            handler(*arguments)
            self.seconds += seconds_now() - begun

        return call


def pretend(done: str) -> None:
    """Let the add-on believe that the timeline plays, or that a bone is dragged."""
    changes.is_playing = lambda: done == PLAYBACK
    changes.is_posing = lambda: done == POSE


def edits_of(character: Character) -> dict[str, Callable[[int], None]]:
    """Change the first weight of the first vertex; rename the bone that it is of."""
    mesh, bones = character.meshes[0], character.rig.data.bones
    group = mesh.vertex_groups[mesh.data.vertices[0].groups[0].group]

    def weigh(frame: int) -> None:
        group.add([0], 0.3 + 0.01 * frame, "REPLACE")
        bpy.context.view_layer.update()

    def rename(frame: int) -> None:
        bones[group.name].name = group.name[:-1] if frame % 2 == 0 else f"{group.name}~"
        bpy.context.view_layer.update()

    return {WEIGHT: weigh, RENAME: rename}


def measure(
    character: Character, clock: Clock, edits: Iterable[str]
) -> dict[str, tuple[float, float]]:
    """Least milliseconds of a frame, and of the add-on's Python in one, by what is done."""
    scene, bone = bpy.context.scene, character.rig.pose.bones[character.bone]
    bone.rotation_mode = "XYZ"

    def pose(frame: int) -> None:
        bone.rotation_euler.x = 0.05 * frame
        bpy.context.view_layer.update()

    steps = {FRAME_SET: scene.frame_set, PLAYBACK: scene.frame_set, POSE: pose}
    editing = edits_of(character)
    found = {}
    for done, step in (steps | {edit: editing[edit] for edit in edits}).items():
        pretend(done)
        times, python = [], []
        for frame in range(1, FRAMES + 1):
            clock.seconds, begun = 0.0, seconds_now()
            step(frame)
            times.append(seconds_now() - begun)
            python.append(clock.seconds)
        pretend(FRAME_SET)
        # The first ones build what later ones find ready.
        found[done] = tuple(1e3 * min(each[4:]) for each in (times, python))
    return found


def switch(character: Character, *, enabled: bool) -> None:
    """Enable or disable the character; Preserve Volume without the add-on."""
    for mesh in character.meshes:
        if mesh.dq_compensation.enabled != enabled:
            (api.enable if enabled else api.disable)(mesh)
        armature = next(each for each in mesh.modifiers if each.type == "ARMATURE")
        armature.use_deform_preserve_volume = True
    bpy.context.view_layer.update()


def run(scene: Scene, rounds: int, clock: Clock) -> None:
    """Measure one scene and print its table."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    character = scene.build()
    for mesh in character.meshes:
        mesh.dq_compensation.use_ball_joints = True
    both: dict[bool, list[dict[str, tuple[float, float]]]] = {True: [], False: []}
    for _ in range(rounds):
        for enabled in (False, True):
            switch(character, enabled=enabled)
            both[enabled].append(measure(character, clock, scene.edits))
    heads = ("PV ms", "ms", "Python", "share", "ratio", "target")
    print(f"\n{scene.title}\n{'':20}{''.join(f'{head:>8}' for head in heads)}")
    for done, target in (scene.targets | scene.edits).items():
        pairs = list(zip(both[False], both[True], strict=True))
        ratio = statistics.median(ours[done][0] / plain[done][0] for plain, ours in pairs)
        plain, ours, python = (
            statistics.median(each[done][place] for each in both[on])
            for on, place in ((False, 0), (True, 0), (True, 1))
        )
        share = python / plain
        values = (plain, ours, python, share, ratio, target)
        print(f"{done:20}{''.join(f'{value:8.2f}' for value in values)}", flush=True)
        record(f"{scene.title}: {done}", ratio, target)
        if done in PYTHON:
            record(f"{scene.title}: {done}, Python's share", share, PYTHON[done])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", nargs="*", choices=[*SCENES, []], metavar="SCENE")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", action="store_true", help="time spent by the processor")
    chosen = parser.parse_args()
    if chosen.work:
        global seconds_now
        seconds_now = time.process_time
    print(f"Blender {bpy.app.version_string}")
    dq_compensation.register()
    clock = Clock()
    for name in chosen.scenes or SCENES:
        run(SCENES[name], chosen.rounds, clock)


if __name__ == "__main__":
    main()
