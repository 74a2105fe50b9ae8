"""Times the node modifier against Blender's Armature modifier, frame by frame, on one mesh.

    .venv-5.2/bin/python scripts/run.py benchmarks.modifier [--quick]

One frame is a new pose and `view_layer.update()`. Ratios are to Preserve Volume in the same run;
the methods take turns, so that other load on the machine hits all of them. The methods by example
have 4 poses of 4 bones; their mesh has the shape keys for them, the others' has none. What has to
meet a target is in `characters.py`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import bpy
import numpy as np

import dq_compensation
from benchmarks.examples import add_bent_examples
from benchmarks.grid import build_chain, build_skinned_grid, write_weights
from dq_compensation.core.deform import METHODS
from dq_compensation.modifier.base import restore_modifier
from dq_compensation.modifier.installation import install
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.binding import Binding
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.settings.object_settings import Settings

# MEASURED is COMPENSATED with that curve; COMPENSATED is with a published one. Blended: by a group
# that leaves a third of the vertices linear and a third to the method, with a ramp between.
BLENDED = ", blended"
BY_EXAMPLE = " by example"
WAYS = (
    *METHODS,
    "MEASURED",
    f"DUAL_QUATERNION{BLENDED}",
    f"MEASURED{BLENDED}",
    f"SPHERICAL_JOINT{BY_EXAMPLE}",
    f"MEASURED{BY_EXAMPLE}",
)
BLEND_GROUP = "Blend"
# What the tables after the first one compare.
COMMON_WAYS = ("DUAL_QUATERNION", "COMPENSATED", "MEASURED")


@dataclass(frozen=True)
class Subject:
    """How large the benchmark's character is.

    Attributes:
        vertices: about so many.
        bones: in a chain along X.
        influences: per vertex.
        scattered: the bones of a vertex are any, not neighbours: as many sets as vertices.
        scaled: every bone is scaled, so that no set has a dual quaternion.
    """

    vertices: int = 65536
    bones: int = 80
    influences: int = 4
    scattered: bool = False
    scaled: bool = False

    def __str__(self) -> str:
        extra = " scattered" * self.scattered + " scaled" * self.scaled
        return f"{self.vertices} vertices, {self.bones} bones, {self.influences} influences{extra}"


def build_mesh(subject: Subject, armature: bpy.types.Object) -> bpy.types.Object:
    """A grid of quads along the chain, skinned to it."""
    obj, points = build_skinned_grid(round(subject.vertices**0.5), armature)
    x, y, _ = points.T
    count, width = subject.bones, subject.influences
    first = np.clip((x * count).astype(int) - (width - 1) // 2, 0, count - width)
    bones = first[:, None] + np.arange(width)
    weights = np.exp(-((np.abs((bones + 0.5) / count - x[:, None]) * count) ** 2) / width)
    if subject.scattered:
        rng = np.random.default_rng(1)
        bones = np.sort(rng.random((len(x), count)).argsort(axis=1)[:, :width], axis=1)
    blend_group = obj.vertex_groups.new(name=BLEND_GROUP).index
    blend = np.clip(15.0 * y - 1.0, 0.0, 1.0)
    groups = np.column_stack((bones, np.full(len(x), blend_group)))
    write_weights(obj.data, groups, np.column_stack((weights, blend)))
    return obj


def measure(subject: Subject, frames: int, methods: Sequence[str]) -> dict[str, float]:
    """Median seconds per posed frame of every way to deform the subject."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    armature = build_chain(subject.bones)
    obj = build_mesh(subject, armature)
    bpy.context.view_layer.update()
    binding = bind(obj)
    exemplary = obj.copy()
    exemplary.data = obj.data.copy()
    bpy.context.scene.collection.objects.link(exemplary)
    add_bent_examples(exemplary, binding, [subject.bones * part // 5 for part in (1, 2, 3, 4)])
    bpy.context.view_layer.update()
    both = (obj, exemplary)
    ways: dict[str, Callable[[], None]] = {
        "not deformed": lambda: show(both, obj, None),
        "Armature": lambda: show(both, obj, False),
        "Preserve Volume": lambda: show(both, obj, True),
    }
    for method in methods:
        shown = exemplary if method.endswith(BY_EXAMPLE) else obj
        ways[method] = partial(show_nodes, both, shown, bind(shown), method)
    rng = np.random.default_rng(0)
    quaternions = np.ones((subject.bones, 4))
    times: dict[str, list[float]] = {way: [] for way in ways}
    if subject.scaled:
        for bone in armature.pose.bones:
            bone.scale = (1.05, 1.0, 0.95)
    for _ in range(3):
        for way, switch in ways.items():
            switch()
            for frame in range(frames // 3 + 2):
                quaternions[:, 1:] = 0.05 * rng.normal(size=(subject.bones, 3))
                armature.pose.bones.foreach_set("rotation_quaternion", quaternions.reshape(-1))
                armature.update_tag(refresh={"OBJECT", "DATA"})
                begun = time.perf_counter()
                bpy.context.view_layer.update()
                if frame >= 2:  # the first ones build what later frames find ready
                    times[way].append(time.perf_counter() - begun)
    return {way: statistics.median(values) for way, values in times.items()}


def show_alone(objects: Iterable[bpy.types.Object], shown: bpy.types.Object) -> None:
    """Leave the other objects out of what is evaluated."""
    for obj in objects:
        obj.hide_viewport = obj != shown


def show(
    objects: Iterable[bpy.types.Object], obj: bpy.types.Object, preserve_volume: bool | None
) -> None:
    """Deform by the Armature modifier; None: not at all."""
    show_alone(objects, obj)
    restore_modifier(SkinnedObject(obj))
    for modifier in obj.modifiers:
        modifier.show_viewport = modifier.type == "ARMATURE" and preserve_volume is not None
    obj.modifiers["Armature"].use_deform_preserve_volume = bool(preserve_volume)


def show_nodes(
    objects: Iterable[bpy.types.Object], obj: bpy.types.Object, binding: Binding, way: str
) -> None:
    """Deform by the node modifier."""
    show_alone(objects, obj)
    blend_group = BLEND_GROUP if way.endswith(BLENDED) else ""
    method = way.removesuffix(BLENDED).removesuffix(BY_EXAMPLE)
    curve = "MEASURED" if method == "MEASURED" else "FITTED"
    method = "COMPENSATED" if method == "MEASURED" else method
    settings = Settings(acting_method=method, curve=curve, blend_group=blend_group)
    restore_modifier(SkinnedObject(obj))
    for modifier in obj.modifiers:
        modifier.show_viewport = True
    install(SkinnedObject(obj), binding, replace(settings, by_example=way.endswith(BY_EXAMPLE)))


def print_table(subject: Subject, frames: int, methods: Sequence[str] = WAYS) -> None:
    """Measure one subject and print times and ratios."""
    times = measure(subject, frames, methods)
    print(f"\n{subject}\n{'':28}{'ms':>8}{'ratio':>8}")
    for way, seconds in times.items():
        print(f"{way:28}{1e3 * seconds:8.2f}{seconds / times['Preserve Volume']:8.2f}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the first table only")
    parser.add_argument("--frames", type=int, default=30)
    chosen = parser.parse_args()
    print(f"Blender {bpy.app.version_string}")
    dq_compensation.register()
    print_table(Subject(), chosen.frames)
    if chosen.quick:
        return
    others = [Subject(vertices=vertices) for vertices in (10000, 250000)]
    others += [Subject(bones=bones) for bones in (20, 300)]
    others += [Subject(influences=influences) for influences in (1, 8)]
    for subject in (*others, Subject(scaled=True), Subject(scattered=True)):
        print_table(subject, chosen.frames, COMMON_WAYS)


if __name__ == "__main__":
    main()
