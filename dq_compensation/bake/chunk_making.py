"""Computes chunks: some frames of characters, for processes that share the work of a long range."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

import bpy
import numpy as np

from ..core.rest_offsets import Target
from ..errors import UserError
from ..scene.animation_curves import animated_paths
from ..scene.content import digest
from ..scene.motion_state import motion_digests
from ..scene.object_settings import Settings
from ..scene.setup import rig_of
from ..wording import listed
from .acting_keys import acting_keys_refusal
from .frame_chunks import CharacterFrames, FrameChunk, changed_since
from .frames import Gathered, frame_kept, offsets_memory
from .key_names import keys_of_pattern
from .source import Source


def make_chunk(
    objects: Sequence[bpy.types.Object],
    frames: tuple[int, ...],
    target: Target | None = None,
    *,
    pattern: str | None = None,
) -> Generator[float, None, FrameChunk]:
    """Compute some frames of characters; yields the part that is done. Changes nothing.

    Args:
        objects: mesh objects, enabled or not.
        frames: rising.
        target: what deforms the object that gets shape keys from the frames; None for positions.
        pattern: of the names of these keys: keys of an earlier bake count as off.

    Raises:
        UserError: one of the objects cannot be baked.
    """
    scene, depsgraph = bpy.context.scene, bpy.context.evaluated_depsgraph_get()
    sources: list[Source] = []
    for obj in objects:
        replaced = [] if pattern is None else keys_of_pattern(obj, pattern)
        if (reason := acting_keys_refusal(obj, frames, replaced)) is not None:
            raise UserError(reason)
        sources.append(Source.of(obj, depsgraph, target or "LINEAR", frozenset(replaced)))
    characters = [
        CharacterFrames(
            source.obj.name,
            offsets_memory(source.vertex_count, len(frames)),
            np.zeros(source.vertex_count, np.bool_),
            made_from(source),
        )
        for source in sources
    ]
    with frame_kept(scene):
        for done, frame in enumerate(frames):
            scene.frame_set(frame)
            depsgraph = bpy.context.evaluated_depsgraph_get()
            for source, character in zip(sources, characters, strict=True):
                if target is None:
                    character.values[done] = source.wanted(depsgraph)[1]
                else:
                    found = source.offsets(depsgraph)
                    character.values[done] = found.offsets
                    character.unreached[:] |= found.unreached
            yield (done + 1) / len(frames)
    rate = scene.render.fps / scene.render.fps_base
    return FrameChunk("", frames, rate, target, tuple(characters))


def made_from(source: Source) -> dict[str, str]:
    """The digests of what the frames of a character are computed from, by names for riggers.

    Frames that different processes computed fit together where these are equal.
    """
    obj, scene, keys = source.obj, bpy.context.scene, source.binding.shape_keys
    settings = Settings.of(obj)
    if "dq_compensation.factor" in animated_paths(obj):
        settings = replace(settings, factor=0.0)
    return {
        "version of Blender": digest(bpy.app.version[:2]),
        "frame rate": digest(scene.render.fps, scene.render.fps_base),
        "settings": digest(settings, sorted(source.replaced)),
        **source.binding.structure,
        **source.binding.content,
        **motion_digests(rig_of(obj), [obj]),
        "points of shape keys": digest(None if keys is None else keys.own_offsets),
    }


def gathered_from(chunk: FrameChunk, source: Source) -> Generator[float, None, Gathered]:
    """The offsets of a character from a chunk that has all of its frames.

    Raises:
        UserError: the chunk is of another state of the character.
    """
    character = chunk.of(source.obj.name)
    if chunk.target != source.target:
        raise UserError(f"{chunk.name} has no shape keys for {source.target}.")
    if changed := changed_since(character.made_from, made_from(source)):
        raise UserError(
            f"{source.obj.name} is not as it was when {chunk.name} was made: {listed(changed)} "
            "changed. Compute the frames again."
        )
    yield 1.0
    return Gathered(chunk.frames, character.values, character.unreached)
