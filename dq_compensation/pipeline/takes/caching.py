"""Takes of an armature: sampled, reduced, kept in the file, removed."""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np
from bpy.types import Context, Object, ViewLayer

from ...bake.bake_source import REFUSAL_REST
from ...errors import UserError, raise_refusal
from ...scene.binding.shape_key_offsets import written_by_drivers
from ...scene.blender.animation_curves import bone_curves, bone_drivers, played_actions
from ...scene.blender.armature import armature_of, is_in_edit_mode
from ...scene.blender.mesh import mesh_of
from ...scene.blender.own_objects import linked_refusal
from ...scene.blender.scenes import frames_of_range, object_millimetres
from ...scene.selected_characters import deformed_meshes
from ...steps import Progress, with_progress
from ...wording import counted, sized
from .fitted_takes import scales_of_keys
from .known_takes import note_changed, note_other_takes
from .motion_facts import motion_facts
from .motion_sampling import MotionSource, SampledMotion, sample_motion
from .options import TakeOptions
from .settings import DQCompensationTake, find_take, take_settings_of, takes_of
from .stored_takes import remove_unused_take, store_take, stored_bytes
from .take_checks import watch_takes
from .take_reduction import reduce_poses, reduced_values
from .takes import Take, TakeValues

_ADVICE_LINKED = "Make a library override of it, or cache the take in its own file."
_REFUSAL_LINKED_TAKE = "The take {take} belongs to the linked file of {armature}. {instead}"
_REFUSAL_EDIT_MODE = "{armature} is in Edit Mode. Leave it (Tab) to cache its motion."
_REFUSAL_HIDDEN = (
    "{armature} and its meshes are hidden, so Blender does not evaluate them. Show one of them."
)
_REFUSAL_NO_KEYS = "The action {action} has no keys for the bones of {armature}. Choose another."
_REFUSAL_NO_MOTION = (
    "Nothing moves the bones of {armature}. Give it an action, NLA strips, drivers or constraints."
)
_REFUSAL_STILL = "No bone of {armature} moves from frame {first} to frame {last}. Choose a range."

# Of the frames of a take, whose keys count them from the first.
_MOST_FRAMES = 65536
# The part of the tolerance for bones where shape keys move the skin, too.
_FOR_BONES = 0.75


@dataclass(frozen=True)
class TakeReport:
    """The result of caching a take.

    Attributes:
        sampled_keys, keys: how many keys of bones there were, and are left.
        stored_bytes: the memory in the file.
        error: how far the skin is off between keys at most, millimetres.
        shape_keys: how many shape keys have their values in it.
        travels: whether the armature moves as an object, too, which is not in the take.
        leaves_shapes: whether drivers that run Python may shape keys, which is not in it either.
    """

    armature_name: str
    take_name: str
    frames: int
    sampled_keys: int
    keys: int
    stored_bytes: int
    error: float
    shape_keys: int
    travels: bool
    leaves_shapes: bool = False

    def sentence(self) -> str:
        """For the status line and the panel."""
        size = _size(self.keys, self.sampled_keys, self.stored_bytes)
        text = (
            f"Cached {self.take_name} of {self.armature_name}: {counted(self.frames, 'frame')}, "
            f"{size}. The skin is off by {self.error:.2f} mm at most."
        )
        if self.shape_keys:
            text += f" The values of {counted(self.shape_keys, 'shape key')} are in it, too."
        if self.travels:
            text += (
                f" {self.armature_name} moves as an object: the take has the motion of its bones "
                "alone."
            )
        if self.leaves_shapes:
            text += " Shapes that drivers write with Python are not in it."
        return text


def default_name(armature: Object) -> str:
    """The name for a take: the name of the action that plays, else of the armature."""
    played = played_actions(armature)
    return played[0].action.name if played else armature.name


def take_refusal(armature: Object, meshes: list[Object], view_layer: ViewLayer) -> str | None:
    """Why no take of an armature object can be cached, or None; cheap.

    Args:
        meshes: of the view layer that it deforms.
    """
    name = armature.name
    if reason := takes_refusal(armature):
        return reason
    if armature_of(armature).pose_position == "REST":
        return REFUSAL_REST.format(armature=name)
    if is_in_edit_mode(armature):
        return _REFUSAL_EDIT_MODE.format(armature=name)
    if not meshes:
        return f"{name} deforms no mesh in this view layer. Parent one to it (Ctrl P)."
    if not any(obj.visible_get(view_layer=view_layer) for obj in (armature, *meshes)):
        return _REFUSAL_HIDDEN.format(armature=name)
    return None


def takes_refusal(armature: Object) -> str | None:
    """Why the takes of an armature object cannot be changed, or None."""
    return linked_refusal(armature.name, [armature], _ADVICE_LINKED)


def _motion_refusal(armature: Object) -> str | None:
    """Why an armature object cannot move at all, or None."""
    played = played_actions(armature)
    constrained = any(len(bone.constraints) for bone in armature.pose.bones)
    if constrained or any(bone_curves(played)) or any(bone_drivers(armature)):
        return None
    if played:
        return _REFUSAL_NO_KEYS.format(action=played[0].action.name, armature=armature.name)
    return _REFUSAL_NO_MOTION.format(armature=armature.name)


def cache_take(
    armature: Object, options: TakeOptions, context: Context
) -> Generator[Progress, None, list[TakeReport]]:
    """Cache a take of an armature object; closed before its end it has changed nothing.

    Returns:
        one report.

    Raises:
        UserError: it cannot be done; nothing has changed.
    """
    meshes = deformed_meshes(armature, context.view_layer)
    raise_refusal(take_refusal(armature, meshes, context.view_layer))
    scene = context.scene
    first = scene.frame_start if options.first is None else options.first
    last = scene.frame_end if options.last is None else options.last
    frames = frames_of_range(first, last, 1)
    if len(frames) > _MOST_FRAMES:
        raise UserError(f"A take has at most {_MOST_FRAMES:,} frames. Cache a part of the range.")
    raise_refusal(_motion_refusal(armature))
    options = replace(options, name=options.name or default_name(armature))
    former = find_take(armature, options.name)
    if former is not None and former.stored is not None and former.stored.library is not None:
        raise UserError(
            _REFUSAL_LINKED_TAKE.format(
                take=options.name, armature=armature.name, instead="Choose another name."
            )
        )
    source = MotionSource.of(armature, meshes, context.evaluated_depsgraph_get())
    sampled = yield from with_progress(
        sample_motion(source, scene, frames), f"Sampling {armature.name}", 0.0, 0.5
    )
    unit = object_millimetres(armature, scene)
    rate = scene.render.fps / scene.render.fps_base
    steps = _make_take(source, sampled, frames, options, options.tolerance / unit, rate)
    take, error = yield from with_progress(steps, f"Reducing keys of {options.name}", 0.5, 0.5)
    still = all(each.key_count == each.track_count for each in (take.keys, take.values.keys))
    if len(frames) > 1 and still:
        raise UserError(_REFUSAL_STILL.format(armature=armature.name, first=first, last=last))
    item = _keep_take(armature, take, options, error * unit)
    item.made_from = json.dumps(motion_facts(armature))
    note_changed(item, ())
    watch_takes()
    return [
        TakeReport(
            armature.name,
            item.name,
            frames=len(frames),
            sampled_keys=item.sampled_keys,
            keys=item.keys,
            stored_bytes=stored_bytes(item.stored) if item.stored is not None else 0,
            error=item.error,
            shape_keys=len(take.values.names),
            travels=sampled.travels,
            leaves_shapes=any(written_by_drivers(mesh_of(each.obj)) for each in source.keyed),
        )
    ]


def _make_take(
    source: MotionSource,
    sampled: SampledMotion,
    frames: tuple[int, ...],
    options: TakeOptions,
    tolerance: float,
    fps: float,
) -> Generator[float, None, tuple[Take, float]]:
    """Make a take of what was sampled; yields the part that is done.

    Args:
        tolerance: in armature units; a quarter of it is for shape keys, where some move.

    Returns:
        the take, and how far its skin is off at most, armature units.
    """
    moving = np.ptp(sampled.values, axis=0) > 0.0 if len(sampled.values) else np.zeros(0, np.bool_)
    for_bones = tolerance * (_FOR_BONES if moving.any() else 1.0)
    poses = yield from reduce_poses(
        sampled.poses, source.parents, source.boxes, for_bones, options.interpolation
    )
    for_value = (tolerance - for_bones) / max(np.count_nonzero(moving), 1)
    keys, values = reduced_values(sampled.values, for_value / np.maximum(source.value_reach, 1e-30))
    take = Take(
        source.names,
        poses.parents,
        source.rest,
        frames[0],
        frames[-1],
        fps,
        poses.keys,
        poses.poses.locations.astype(np.float32),
        poses.poses.rotations.astype(np.float32),
        scales_of_keys(poses.poses.scales),
        TakeValues(source.value_names, keys, values),
        options.interpolation,
    )
    return take, poses.error + (tolerance - for_bones)


def _keep_take(
    armature: Object, take: Take, options: TakeOptions, error: float
) -> DQCompensationTake:
    """Write a take into the file; an earlier take of the same name is replaced."""
    settings = take_settings_of(armature)
    item = find_take(armature, options.name)
    if item is None:
        item = settings.takes.add()
        item.name = options.name
    former, item.stored = item.stored, store_take(take, f"{armature.name} {options.name}")
    remove_unused_take(former)
    item.frame_start, item.frame_end = take.frame_start, take.frame_end
    item.tolerance, item.interpolation = options.tolerance, take.interpolation
    item.error = error
    item.sampled_keys = take.node_count * (take.length + 1)
    item.keys = take.keys.key_count
    settings.active_take = [each.name for each in settings.takes].index(options.name)
    if find_take(armature, settings.playback.take) is None:
        settings.playback.take = options.name
    note_other_takes()
    return item


def remove_take(armature: Object, name: str) -> None:
    """Remove a take and free its data-block.

    Raises:
        UserError: there is none of that name.
    """
    settings = take_settings_of(armature)
    names = [item.name for item in takes_of(armature)]
    if name not in names:
        raise UserError(f"{armature.name} has no take {name}.")
    index = names.index(name)
    stored = settings.takes[index].stored
    try:
        settings.takes.remove(index)
    except TypeError as error:  # of a library override
        reason = _REFUSAL_LINKED_TAKE.format(
            take=name, armature=armature.name, instead="Remove it there."
        )
        raise UserError(reason) from error
    remove_unused_take(stored)
    note_other_takes()
    settings.active_take = max(min(settings.active_take, len(settings.takes) - 1), 0)


def take_size(item: DQCompensationTake) -> str:
    """The numbers of keys that a take has and had, and its memory in the file."""
    count = stored_bytes(item.stored) if item.stored is not None else 0
    return _size(item.keys, item.sampled_keys, count)


def _size(keys: int, sampled_keys: int, count: int) -> str:
    return f"{keys:,} of {counted(sampled_keys, 'key')}, {sized(count)}"
