"""What is true of every file after every action, whatever it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar, cast

import bpy
import numpy as np
from numpy.typing import NDArray

import dq_compensation
from dq_compensation import api
from dq_compensation.errors import UserError
from dq_compensation.lifecycle import enabling
from dq_compensation.lifecycle.character_settings import values_of
from dq_compensation.lifecycle.enabling import (
    copied_modifier_warning,
    notes_of,
    problem_of,
    refresh,
)
from dq_compensation.lifecycle.following_softness import waiting_objects
from dq_compensation.lifecycle.reconcile import State, compare_with_file
from dq_compensation.modifier.attributes.vertex_attributes import CONTENT_PROPERTY, attribute_names
from dq_compensation.modifier.users_settings import replaced_modifier
from dq_compensation.modifier.written_record import STATE_PROPERTY
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.binding import Binding
from dq_compensation.scene.binding.character_skin import CharacterSkin
from dq_compensation.scene.binding.facts import OTHER_MESHES
from dq_compensation.scene.binding.modifiers_before import reshaping_modifiers
from dq_compensation.scene.binding.numpy_evaluator import evaluate
from dq_compensation.scene.blender.mesh import mesh_of
from dq_compensation.scene.blender.own_objects import is_hidden, is_palette, parsed_record
from dq_compensation.scene.blender.rigging import rig_of
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.settings.object_settings import (
    FOLLOWED_SETTINGS,
    Settings,
    armature_with_settings,
    settings_of,
)
from dq_compensation.scene.stack import find_rig, own_modifiers, record_of_tree
from dq_compensation.session.character import character_of
from dq_compensation.session.known_bindings import current_binding, in_character
from dq_compensation.session.known_objects import enabled_objects
from dq_compensation.session.memory import memories
from dq_compensation.session.status import Status
from dq_compensation.setup_check.subject import Subject
from dq_compensation.wording import listed
from tests.blender.enabled_scenes import check, select
from tests.blender.scene_builders import evaluated_positions

# In parts of the size: nodes compute in float32, and the limits of what counts as moved.
TOLERANCE = 5e-4
# Joints and widths are those of the frame in which the mesh was read, where modifiers move its
# vertices by an animation, until it is read again; so are the weights of envelopes. What is nearer
# than this is read again, and must be right then.
_READ_IN_ANOTHER_FRAME = 0.02
_SIMULATES = frozenset({"CLOTH", "SOFT_BODY"})

_ID = TypeVar("_ID", bound=bpy.types.ID)


@dataclass
class Seen:
    """What the checks looked at, so that a soak that looks at nothing is noticed.

    Attributes:
        compared: how often an enabled object's positions were compared.
        reported: how often the panel said why they are others.
        done: how often each kind of action was done.
    """

    compared: int = 0
    reported: int = 0
    done: Counter[str] = field(default_factory=Counter)
    handlers: list[str] = field(default_factory=lambda: sorted(handlers()))


def handlers() -> Iterator[str]:
    """Our functions among Blender's handlers."""
    for event in dir(bpy.app.handlers):
        listed = getattr(bpy.app.handlers, event)
        if isinstance(listed, list):
            for handler in listed:
                if handler.__module__.startswith(dq_compensation.__name__):
                    yield f"{event} {handler.__name__}"


def faults(seen: Seen) -> list[str]:
    """What is wrong with the file, a sentence each."""
    found = [f"{obj.name} counts as current, and is not" for obj in _wrongly_current()]
    check()
    with _nothing_remembered() as known:
        unlike = _unlike_anew(known)
        found += [f"{name} is not as it is enabled anew: {what}" for name, what in unlike]
    now = sorted(handlers())
    if now != seen.handlers:
        found.append(f"handlers: {now} instead of {seen.handlers}")
    for obj in enabled_objects():
        found += _faults_of_enabled(obj, seen)
    found += [f"{obj.name}: soft weights of an earlier state" for obj in waiting_objects()]
    for obj in bpy.data.objects:
        if obj.type == "MESH" and obj.library is None and not settings_of(obj).enabled:
            found += _faults_of_plain(obj)
    found += [f"{obj.name} does not have the settings that its character has" for obj in _strays()]
    # One whose modifier was applied or removed is made anew by Refresh.
    armatures = {find_rig(obj) for obj in bpy.data.objects if SkinnedObject(obj).ours is not None}
    armatures |= {find_rig(obj) for obj in enabled_objects()}
    palettes = [obj for obj in bpy.data.objects if is_palette(obj)]
    remembered = set(memories(Status)) - {obj.session_uid for obj in enabled_objects()}
    if remembered:
        found.append(f"{len(remembered)} statuses of objects that are not enabled")
    # Copies of the modifier on objects that are not enabled may keep one that nobody else has.
    if len(palettes) > max(len(armatures) * 2, 1):
        found.append(f"{len(palettes)} palettes for {len(armatures)} armatures")
    return found


@contextmanager
def _nothing_remembered() -> Generator[dict[int, Binding]]:
    """Read all meshes of a character anew in the block, as where they are enabled anew.

    Yields what was remembered of each object, by its identifier.
    """
    kept = {kind: dict(memories(kind)) for kind in (Binding, CharacterSkin)}
    for kind in kept:
        memories(kind).clear()
    try:
        yield cast("dict[int, Binding]", kept[Binding])
    finally:
        for kind, known in kept.items():
            memories(kind).clear()
            memories(kind).update(known)


def _wrongly_current() -> Iterator[bpy.types.Object]:
    """The objects that Setup Check would not compare with their modifier, though they differ."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    for obj in enabled_objects():
        subject = Subject(obj, depsgraph)
        if obj.library is None and subject.is_current:
            binding = in_character(obj, bind(obj, depsgraph))
            now = compare_with_file(subject, depsgraph, binding)
            if now.state is not State.CURRENT or enabling.refusal(obj):
                yield obj


def _unlike_anew(known: dict[int, Binding]) -> Iterator[tuple[str, str]]:
    """The objects whose modifier was made for other meshes than their character has now, and how.

    What modifiers move in frames is read in one of them, and edits of what is hidden once it shows.
    """
    depsgraph = bpy.context.evaluated_depsgraph_get()
    for obj in enabled_objects():
        meshes = character_of(obj).meshes
        waits = any(m.obj.hide_viewport or m.modifiers_before for m in meshes)
        if not (waits or obj.library or obj.mode != "OBJECT" or problem_of(obj)):
            binding = current_binding(obj, depsgraph)
            parts = set(compare_with_file(SkinnedObject(obj), depsgraph, binding).parts)
            # Methods that do not compensate do not look at the place, so not at where others lie.
            passes = not Settings.of(obj).compensates
            if passes or _are_rounded(known.get(obj.session_uid), binding):
                parts -= {OTHER_MESHES}
            if parts:
                yield obj.name, listed(sorted(parts))


def _are_rounded(was: Binding | None, now: Binding) -> bool:
    """Whether two readings of a character differ by nothing but rounding, as of places."""
    if was is None or was.whole is None or now.whole is None or was.whole.kinds != now.whole.kinds:
        return False
    close = {"rtol": 0.0, "atol": 1e-6 * max(now.extent, 1e-3)}
    for kind in now.whole.kinds:
        one, other = was.whole.at_rest(kind), now.whole.at_rest(kind)
        same = np.array_equal(one.body_parents, other.body_parents)
        same &= np.array_equal(one.limbs_of_bones, other.limbs_of_bones)
        for name in ("rest", "tails"):
            pair = getattr(one.skeleton, name), getattr(other.skeleton, name)
            same &= np.allclose(*pair, **close)
        if not same:
            return False
    return True


def _strays() -> Iterator[bpy.types.Object]:
    """The meshes that go with a character and do not have its settings.

    Those that are read from the armature in each frame may be older on a mesh.
    """
    for obj in enabled_objects():
        rig = armature_with_settings(obj)
        if rig is None or obj.library is not None or problem_of(obj):
            continue
        mine, of_character = values_of(obj), values_of(rig)
        if any(mine[name] != of_character[name] for name in set(mine) - set(FOLLOWED_SETTINGS)):
            yield obj


def disable_everything() -> None:
    """Disable every object of this file that is enabled, or has a modifier of ours."""
    # Objects of ours come and go meanwhile.
    for name in [obj.name for obj in bpy.data.objects if obj.type == "MESH"]:
        obj = bpy.data.objects.get(name)
        if obj is None or obj.library is not None:
            continue
        if not (settings_of(obj).enabled or SkinnedObject(obj).ours):
            continue
        if obj.mode != "OBJECT":
            select(obj)
            bpy.ops.object.mode_set(mode="OBJECT")
        enabling.disable(obj)
    check()


def leftovers() -> list[str]:
    """What is left of the add-on in a file in which everything is disabled, a sentence each.

    Takes, baked crowds and weights from before a bake are the user's.
    """
    found = [f"{obj.name} is left" for obj in _local(bpy.data.objects) if is_hidden(obj)]
    found += [
        f"{tree.name} is left" for tree in _local(bpy.data.node_groups) if record_of_tree(tree)
    ]
    for mesh in _local(bpy.data.meshes):
        found += [f"{mesh.name} has {name}" for name in attribute_names(mesh)]
        if CONTENT_PROPERTY in mesh:
            found.append(f"{mesh.name} has {CONTENT_PROPERTY}")
    for obj in _local(bpy.data.objects):
        if isinstance(obj.data, bpy.types.Mesh) and obj.data.library is not None:
            continue  # its modifier came with the mesh and is only hidden
        if STATE_PROPERTY in obj:
            found.append(f"{obj.name} has {STATE_PROPERTY}")
        drivers = obj.animation_data.drivers if obj.animation_data is not None else ()
        found += [f"{obj.name} has a driver of ours" for curve in drivers if _is_ours(curve)]
    return found


def _local(things: Iterable[_ID]) -> list[_ID]:
    # An override has again, at the next load, what its library has.
    return [each for each in things if each.library is None and each.override_library is None]


def _is_ours(curve: bpy.types.FCurve) -> bool:
    return 'modifiers["DQ Compensation' in curve.data_path


def _faults_of_enabled(obj: bpy.types.Object, seen: Seen) -> list[str]:
    if obj.mode != "OBJECT" or bpy.context.view_layer.objects.get(obj.name) != obj:
        return []
    evaluated = evaluated_positions(obj)
    if find_rig(obj) is not None and not np.isfinite(evaluated).all():
        return [f"{obj.name}: positions are not finite"]
    if problem_of(obj) or notes_of(obj):
        seen.reported += 1
        return []
    ours = own_modifiers(obj)
    if len(ours) != 1:
        return [f"{obj.name}: {len(ours)} modifiers of ours, and no word of it"]
    # NumPy knows neither what comes after ours nor what simulates: a copy has a cache of its own.
    others = list(obj.modifiers)[obj.modifiers.find(ours[0].name) + 1 :]
    others += [each for each in SkinnedObject(obj).modifiers_before if each.type in _SIMULATES]
    if any(modifier.show_viewport for modifier in others) or not obj.visible_get():
        return []
    seen.compared += 1
    return _differences(obj, evaluated)


def _differences(obj: bpy.types.Object, evaluated: NDArray[np.floating]) -> list[str]:
    """Where Blender's positions are not those of NumPy."""
    try:
        expected = api.evaluate(obj)
    except UserError as error:
        return [f"{obj.name}: no problem is shown, but {error}"]
    if len(expected) != len(evaluated):
        return [f"{obj.name}: {len(evaluated)} vertices, NumPy has {len(expected)}"]
    if not len(expected):
        return []
    size = max(float(np.ptp(expected, axis=0).max()), 1e-3)
    off = float(np.abs(evaluated - expected).max()) / size
    reshaped = bool(reshaping_modifiers(SkinnedObject(obj)))
    as_read = _by_joints_as_read(obj) if off > TOLERANCE and reshaped else None
    if as_read is not None:
        off = min(off, float(np.abs(evaluated - as_read).max()) / size)
    if TOLERANCE < off < _READ_IN_ANOTHER_FRAME and reshaped:
        for each in character_of(obj).meshes:  # as the button does
            refresh(each.obj, bpy.context.evaluated_depsgraph_get())
        off = float(np.abs(evaluated_positions(obj) - expected).max()) / size
    return [f"{obj.name}: off by {off:.2g} of the size"] if off > TOLERANCE else []


def _by_joints_as_read(obj: bpy.types.Object) -> NDArray[np.floating] | None:
    """NumPy's positions by the joints and amounts of the frame in which the mesh was read.

    None where bones, weights or anything else but the shape are others since.
    """
    depsgraph = bpy.context.evaluated_depsgraph_get()
    known, now = memories(Binding).get(obj.session_uid), bind(obj, depsgraph)
    if known is None or known.structure != now.structure:
        return None
    pairs = [(known.influences, now.influences), (known.painted_influences, now.painted_influences)]
    for was, each in pairs:
        same = np.array_equal(was.bones, each.bones) and np.array_equal(was.weights, each.weights)
        if not same:
            return None
    rig, there = rig_of(obj).evaluated_get(depsgraph), obj.evaluated_get(depsgraph)
    shape = now.shape(None if now.shape_keys is None else now.shape_keys.values(there))
    return evaluate(known, Settings.of(there), there, rig, shape)


def _faults_of_plain(obj: bpy.types.Object) -> list[str]:
    found = []
    if SkinnedObject(obj).ours is not None and not copied_modifier_warning(obj):
        found.append(f"{obj.name} is not enabled, has our modifier, and nothing says so")
    if replaced_modifier(obj) is not None or parsed_record(settings_of(obj).native.users_settings):
        found.append(f"{obj.name} is not enabled, but its Armature modifier is not given back")
    if not np.isfinite([list(v.co) for v in mesh_of(obj).vertices[:3]]).all():
        found.append(f"{obj.name}: vertices at rest are not finite")
    return found
