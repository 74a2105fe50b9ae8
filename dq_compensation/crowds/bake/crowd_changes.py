"""Whether a crowd has changed since it was baked."""

from __future__ import annotations

from weakref import ReferenceType, ref

import bpy
import numpy as np

from ...core.takes import Take
from ...scene.binding.content import digest
from ...scene.blender.armature import world_matrix
from ...scene.blender.mesh import mesh_of
from ...scene.blender.own_objects import CROWD_BAKE_PROPERTY
from ...scene.blender.rigging import find_rig
from ...scene.settings.crowd_settings import roles_of
from ...scene.settings.object_settings import Settings
from ...session.known_crowds import change
from ..crowd_figures import CrowdState
from ..crowd_roles import enabled_meshes

# By the session_uid of the crowd: from what the digest was made last, and the digest.
_Source = tuple[ReferenceType[CrowdState], int, float, tuple[str, ...]]
_known: dict[int, tuple[_Source, str]] = {}


def has_changed(
    crowd: bpy.types.Object, state: CrowdState, scene: bpy.types.Scene, baked: bpy.types.Object
) -> bool:
    """Whether a bake of the crowd would differ from the one that `baked` shows.

    Cheap enough for every drawing of the panel: figures and takes are looked at after changes only.
    """
    meshes = enabled_meshes()
    places = tuple(
        _stance(obj) for role in state.roles for obj in meshes.get(role.armature_uid, ())
    )
    source = (ref(state), change(), _fps(scene), places)
    known = _known.get(crowd.session_uid)
    if known is None or known[0] != source:
        known = _known[crowd.session_uid] = (source, made_for(crowd, state, scene))
    return known[1] != baked.get(CROWD_BAKE_PROPERTY)


def made_for(crowd: bpy.types.Object, state: CrowdState, scene: bpy.types.Scene) -> str:
    """A digest that differs where a bake would give another result; but for edited meshes."""
    figures, parts = state.figures, []
    meshes = enabled_meshes()
    for role in state.roles:
        own = meshes.get(role.armature_uid, ())
        settings = [(obj.name, Settings.of(obj), len(mesh_of(obj).vertices)) for obj in own]
        takes = [_digest_of_take(take) for take in (role.first, role.second) if take is not None]
        settings += [_stance(obj) for obj in own]
        parts.append((role.armature_name, settings, takes, role.fade_frames))
    arrays = (figures.roles, figures.places, figures.phases, figures.speeds)
    return digest(*arrays, parts, state.start_frame, _fps(scene), len(roles_of(crowd)))


def _fps(scene: bpy.types.Scene) -> float:
    return scene.render.fps / scene.render.fps_base


def _digest_of_take(take: Take) -> str:
    keys, values = take.keys, take.values
    of_values = (values.names, values.keys.frames, values.values)
    return digest(take.rotations, take.locations, take.scales, keys.frames, take.fps, *of_values)


def _stance(obj: bpy.types.Object) -> str:
    """The turn, the scale and the place of a mesh as seen from the origin of its armature."""
    found = np.array(world_matrix(obj), np.float64)
    rig = find_rig(obj)
    if rig is not None:
        found[:3, 3] -= np.array(world_matrix(rig).translation, np.float64)
    # Without the rounding of float32; adding 0 makes 0 of -0.
    return digest(np.round(found, 6) + 0.0)
