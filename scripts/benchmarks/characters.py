"""Times characters as riggers have them, deformed by the add-on, against Blender's own modifier.

    .venv-5.2/bin/python scripts/run.py benchmarks.characters [CHARACTER ...]

CHARACTER is one of: human, body, pieces, dressed, crowd, examples, flexed; all of them without one.
Add
`--rounds 30` for steadier numbers, `--ways MEASURED` for one way alone. Where other processes keep
all cores busy, times say nothing; compare the work of one core then:

    taskset -c 0 .venv-5.2/bin/python scripts/run.py benchmarks.characters human --work

One frame is a new pose and `view_layer.update()`, without the Python of the add-on. Ratios are to
Preserve Volume on the same meshes, of LINEAR to the plain Armature modifier, of *Spread Twist*,
*Blend Group* and *By Example* to MEASURED without it, of a character to its meshes each *By
Itself*; see `turns.py`. The targets hold for 5.2 only.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import bpy  # before bmesh, which the bpy wheel brings along

# isort: split
import bmesh
import numpy as np
from mathutils import Vector
from numpy.typing import NDArray

import dq_compensation
from benchmarks.examples import BENDS, add_bent_examples
from benchmarks.grid import build_chain
from benchmarks.modifier import Subject, build_mesh
from benchmarks.targets import record
from benchmarks.turns import Cast, Timing, copied, handlers_off, times_in_turn
from dq_compensation.lifecycle.enabling import enable_all
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.settings.object_settings import settings_of
from dq_compensation.scene.stack import record_of_tree
from human.dressed import (
    GLOVES,
    HAND,
    HEAD,
    LEG,
    SHIRT,
    SHOES,
    TROUSERS,
    Chosen,
    add_mesh,
    cut,
    garment,
)
from human.model import build_armature, build_human, load_human_arrays
from human.poses import random_pose

PLAIN, PRESERVE_VOLUME = "Armature", "Preserve Volume"
FITTED, MEASURED, BALL_JOINTS = "FITTED", "MEASURED", "MEASURED, Ball Joints"
SPREAD = "MEASURED, Spread Twist"
BLENDED = "MEASURED, Blend Group"
AS_PAINTED, AS_PAINTED_APART = "as painted", "as painted, each By Itself"
SOFT, SOFT_APART = "Softness 0.5", "Softness 0.5, each By Itself"
SOFT_WITH_TWIST = "Soft with Twist"
# Blender's own modifier behind Preserve Volume, by its iterations: 5 is its default.
CORRECTIVE_SMOOTH = {"Corrective Smooth, 5": 5, "Corrective Smooth, 20": 20}
BLEND_GROUP = "Blend"
MEASURED_BY_EXAMPLE, JOINT_BY_EXAMPLE = "MEASURED by example", "SPHERICAL_JOINT by example"
BY_EXAMPLE = "SPHERICAL_JOINT_BY_EXAMPLE"
# The settings of each way, besides the curve MEASURED.
WAYS: dict[str, dict[str, str | bool | float]] = {
    "LINEAR": {"method": "LINEAR"},
    "DUAL_QUATERNION": {"method": "DUAL_QUATERNION"},
    FITTED: {"method": "COMPENSATED", "curve": "FITTED"},
    MEASURED: {"method": "COMPENSATED", "use_ball_joints": False},
    BALL_JOINTS: {"method": "COMPENSATED", "use_ball_joints": True},
    SPREAD: {"method": "COMPENSATED", "use_ball_joints": False, "twist_spread": 1.0},
    BLENDED: {"method": "COMPENSATED", "use_ball_joints": False, "blend_group": BLEND_GROUP},
    AS_PAINTED: {"method": "COMPENSATED", "use_ball_joints": True},
    AS_PAINTED_APART: {"method": "COMPENSATED", "use_ball_joints": True, "by_itself": True},
    SOFT: {"method": "COMPENSATED", "use_ball_joints": True, "softness": 0.5},
    SOFT_APART: {
        "method": "COMPENSATED",
        "use_ball_joints": True,
        "softness": 0.5,
        "by_itself": True,
    },
    SOFT_WITH_TWIST: {
        "method": "COMPENSATED",
        "use_ball_joints": True,
        "softness": 0.5,
        "twist_spread": 1.0,
    },
    MEASURED_BY_EXAMPLE: {
        "method": BY_EXAMPLE,
        "example_base": "COMPENSATED",
        "use_ball_joints": False,  # as MEASURED, with which it is compared
    },
    JOINT_BY_EXAMPLE: {"method": BY_EXAMPLE, "example_base": "SPHERICAL_JOINT"},
}
_CHOICES = (*WAYS, *CORRECTIVE_SMOOTH)
COMMON_WAYS = ("LINEAR", "DUAL_QUATERNION", FITTED, MEASURED, BALL_JOINTS, SPREAD, BLENDED)
EXAMPLE_BONES = (16, 32, 48, 64)

Prototype = tuple[bpy.types.Object, list[bpy.types.Object]]


@dataclass(frozen=True)
class Character:
    """A character to measure.

    Attributes:
        title: of its table.
        build: makes the armature and its meshes in the current scene.
        targets: of some ways, on Blender 5.2.
        copies: how many of it there are in one scene.
        ways: how it is deformed.
        rounds: how often each way is measured.
    """

    title: str
    build: Callable[[], Prototype]
    targets: dict[str, float] = field(default_factory=dict)
    copies: int = 1
    ways: Sequence[str] = COMMON_WAYS
    rounds: int = 12


def human_in_pieces(count: int, size: int) -> Prototype:
    """Meshes of `size` vertices on the human's 163 bones: parts of its skin, one over another.

    Body parts and clothes: each lies on some of the bones and has a vertex group for every one.
    """
    human, armature = build_human()
    blended = human.vertex_groups.new(name=BLEND_GROUP)
    across = np.array([vertex.co.x for vertex in human.data.vertices])
    # A third is linear, a third as the method has it, with a ramp between.
    shares = np.clip(3.0 * across.argsort().argsort() / len(across) - 1.0, 0.0, 1.0).round(2)
    for share in np.unique(shares).tolist():
        blended.add(np.flatnonzero(shares == share).tolist(), share, "REPLACE")
    if size >= len(human.data.vertices):
        return armature, [human]
    pieces = []
    for first in np.linspace(0, len(human.data.vertices) - size, count).astype(int).tolist():
        piece = human.copy()
        piece.data = human.data.copy()
        bpy.context.scene.collection.objects.link(piece)
        _keep_vertices(piece.data, first, first + size)
        pieces.append(piece)
    bpy.data.objects.remove(human)
    return armature, pieces


def _keep_vertices(mesh: bpy.types.Mesh, first: int, end: int) -> None:
    edited = bmesh.new()
    edited.from_mesh(mesh)
    others = [vertex for vertex in edited.verts if not first <= vertex.index < end]
    bmesh.ops.delete(edited, geom=others, context="VERTS")
    edited.to_mesh(mesh)
    edited.free()


def grid_by_example() -> Prototype:
    """65,536 vertices on a chain of 80 bones, with 4 poses of 4 bones."""
    subject = Subject()
    armature = build_chain(subject.bones)
    obj = build_mesh(subject, armature)
    bpy.context.view_layer.update()
    add_bent_examples(obj, bind(obj), EXAMPLE_BONES)
    return armature, [obj]


def human_in_clothes() -> Prototype:
    """The human cut at the neck, wrists, hips and ankles, in a shirt, trousers, gloves and shoes.

    12 meshes, whose seams are closed and whose clothes lie on the skin.
    """
    arrays = load_human_arrays()
    armature = build_armature(arrays)
    parts: dict[str, Chosen] = {"Head": HEAD}
    for side in (".L", ".R"):
        for name, chosen in (("Hand", HAND), ("Foot", SHOES), ("Leg", LEG)):
            parts[name + side] = partial(_of_side, side, chosen)
    meshes = cut(arrays, parts)
    clothes = {"Shirt": (SHIRT, 0.004), "Trousers": (TROUSERS, 0.008)}
    clothes |= {"Gloves": (GLOVES, 0.002), "Shoes": (SHOES, 0.003)}
    for name, (covers, thickness) in clothes.items():
        meshes[name] = garment(arrays, covers, thickness, 0.5)
    return armature, [add_mesh(name, each, armature) for name, each in meshes.items()]


def _of_side(side: str, chosen: Chosen, name: str) -> bool:
    return name.endswith(side) and chosen(name)


def human_by_example() -> Prototype:
    """The human with 4 poses of both elbows and shoulders."""
    armature, (human,) = human_in_pieces(1, 13380)
    bpy.context.view_layer.update()
    binding = bind(human)
    names = [f"{bone}01.{side}" for bone in ("lowerarm", "upperarm") for side in "LR"]
    add_bent_examples(human, binding, [binding.skeleton.names.index(name) for name in names])
    return armature, [human]


CHARACTERS: dict[str, Character] = {
    "human": Character(
        "Human in one mesh of 13,380 vertices, 163 bones",
        lambda: human_in_pieces(1, 13380),
        # Measured 2.24, 1.29 to 1.39 and 1.37, and a tenth. A tree that fetches one position of the
        # palette and writes positions takes 1.7, 0.4 ms of it nodes of the palette.
        # FITTED takes 1.99, 1.98 of it without all that is between reading and writing: half of
        # Preserve Volume are the palette's nodes.
        {"DUAL_QUATERNION": 1.3, FITTED: 2.2, MEASURED: 2.5, SPREAD: 1.5, BLENDED: 1.5},
        ways=(*COMMON_WAYS, SOFT_WITH_TWIST, *CORRECTIVE_SMOOTH),
    ),
    "body": Character(
        "Body of 12 meshes of 5,000 vertices, 163 bones",
        lambda: human_in_pieces(12, 5000),
        {"DUAL_QUATERNION": 1.3, FITTED: 1.8, MEASURED: 2.0},
    ),
    "pieces": Character(
        "40 meshes of 1,000 vertices, 163 bones",
        lambda: human_in_pieces(40, 1000),
        # Measured 2.35, and a tenth; a tree that does nothing takes 1.44 to 1.54, one that
        # fetches one position and writes them 1.8.
        {"DUAL_QUATERNION": 1.5, FITTED: 2.0, MEASURED: 2.6},
    ),
    # As dear as the same meshes that know nothing of each other; twice the same differs by 3 %.
    "dressed": Character(
        "Dressed human of 12 meshes, 163 bones",
        human_in_clothes,
        {AS_PAINTED: 1.03, SOFT: 1.03},
        ways=(BALL_JOINTS, AS_PAINTED, SOFT),
    ),
    "crowd": Character(
        "Crowd of 20 bodies of 12 meshes of 1,000 vertices, 163 bones",
        lambda: human_in_pieces(12, 1000),
        copies=20,
        ways=("DUAL_QUATERNION", MEASURED),
        rounds=4,
    ),
    "examples": Character(
        "Grid of 65,536 vertices, 80 bones, 4 poses of 4 bones, two of them acting",
        grid_by_example,
        {MEASURED_BY_EXAMPLE: 1.3, JOINT_BY_EXAMPLE: 2.0},
        ways=(MEASURED, MEASURED_BY_EXAMPLE, JOINT_BY_EXAMPLE),
    ),
    "flexed": Character(
        "Human in one mesh of 13,380 vertices, 163 bones, 4 poses of 4 bones",
        human_by_example,
        {MEASURED_BY_EXAMPLE: 1.3},
        ways=(MEASURED, MEASURED_BY_EXAMPLE),
    ),
}


def poses_of(armature: bpy.types.Object, count: int, *, examples: bool) -> NDArray[np.float64]:
    """Poses of every bone, shape (count, B, 4): random, or one where two example poses act."""
    bones = armature.pose.bones
    rng = np.random.default_rng(0)
    if examples:
        poses = np.tile((1.0, 0.0, 0.0, 0.0), (count, len(bones), 1))
        half = np.radians(BENDS[0]) / 2.0
        axis = np.array(bones[0].bone.matrix_local.to_3x3().inverted() @ Vector((0.0, 0.0, 1.0)))
        poses[:, EXAMPLE_BONES[:2]] = (np.cos(half), *(np.sin(half) * axis))
        return poses
    if bones[0].name.startswith("bone"):
        poses = np.ones((count, len(bones), 4))
        poses[..., 1:] = 0.05 * rng.normal(size=(count, len(bones), 3))
        return poses
    random = [random_pose(rng) for _ in range(count)]
    return np.array([[pose[bone.name] for bone in bones] for pose in random])


def references_of(ways: Sequence[str]) -> dict[str, str]:
    """The modifier of Blender's own, or the way, that each way is compared with."""
    others = dict.fromkeys((SPREAD, BLENDED, MEASURED_BY_EXAMPLE), MEASURED)
    others |= {"LINEAR": PLAIN, AS_PAINTED: AS_PAINTED_APART, SOFT: SOFT_APART}
    return {way: others.get(way, PRESERVE_VOLUME) for way in ways}


def build_casts(
    character: Character, ways: Sequence[str], clock: Callable[[], float] = time.perf_counter
) -> tuple[dict[str, Cast], float]:
    """The character in a new file, in a scene for each way; and the seconds to enable one way."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    armature, meshes = character.build()
    for bone in armature.pose.bones:
        bone.rotation_mode = "QUATERNION"
    casts: dict[str, Cast] = {}
    seconds = 0.0
    for way in dict.fromkeys((*sorted(set(references_of(ways).values())), *ways)):
        cast = casts[way] = copied(way, armature, meshes, character.copies, clock)
        for obj in cast.meshes:
            obj.modifiers["Armature"].use_deform_preserve_volume = way not in {PLAIN, "LINEAR"}
            if way in CORRECTIVE_SMOOTH:
                smooth: Any = obj.modifiers.new("Corrective Smooth", "CORRECTIVE_SMOOTH")
                smooth.iterations = CORRECTIVE_SMOOTH[way]
        begun = time.perf_counter()
        if way in WAYS:
            _enable(cast, way)
        seconds = time.perf_counter() - begun
    return casts, seconds


def _enable(cast: Cast, way: str) -> None:
    for obj in cast.meshes:
        settings = settings_of(obj)
        settings.curve = MEASURED
        for name, value in WAYS[way].items():
            setattr(settings, name, value)
    with bpy.context.temp_override(scene=cast.scene, view_layer=cast.view_layer):
        _, refused = enable_all(cast.meshes, bpy.context.evaluated_depsgraph_get())
    assert not refused, refused


def measure(name: str, chosen: argparse.Namespace) -> None:
    """Measure one character and print its table."""
    character = CHARACTERS[name]
    ways = [way for way in character.ways if way in chosen.ways]
    clock = time.process_time if chosen.work else time.perf_counter
    casts, seconds = build_casts(character, ways, clock)
    trees = sum(bool(record_of_tree(tree)) for tree in bpy.data.node_groups)
    armature, count = casts[PRESERVE_VOLUME].armatures[0], len(casts[PRESERVE_VOLUME].meshes)
    poses = poses_of(armature, chosen.rounds or character.rounds, examples=name == "examples")
    times = times_in_turn(casts, references_of(ways), poses)
    print(f"\n{character.title}\n{'':28}{'ms':>8}{'ratio':>8}{'target':>8}")
    for way, timing in times.items():
        _print_row(character, way, timing)
    print(
        f"   enabled {count} meshes in {seconds:.1f} s; {trees} trees for {len(ways)} methods",
        flush=True,
    )


def _print_row(character: Character, way: str, timing: Timing) -> None:
    target = character.targets.get(way) if bpy.app.version >= (5, 2) else None
    shown = "" if target is None else f"{target:8.2f}"
    ratio = f"{timing.ratio:8.2f}" if way in _CHOICES else f"{'':8}"
    print(f"{way:28}{1e3 * timing.seconds:8.2f}{ratio}{shown}")
    if target is not None:
        record(f"{character.title}: {way}", timing.ratio, target)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("characters", nargs="*", choices=[*CHARACTERS, []], metavar="CHARACTER")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--work", action="store_true", help="time spent by the processor")
    parser.add_argument("--ways", nargs="*", default=_CHOICES, choices=_CHOICES)
    chosen = parser.parse_args()
    print(f"Blender {bpy.app.version_string}")
    dq_compensation.register()
    handlers_off()
    for name in chosen.characters or CHARACTERS:
        measure(name, chosen)


if __name__ == "__main__":
    main()
