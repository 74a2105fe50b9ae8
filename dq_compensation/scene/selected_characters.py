"""The meshes and the characters that the selection leads to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import bpy

from .blender.own_objects import is_hidden, is_posed_copy
from .blender.skinned_object import SkinnedObject
from .settings.object_settings import armature_with_settings, has_settings, is_enabled
from .stack import find_rig

_Pair = tuple[bpy.types.Object, bpy.types.Object | None]
# The view layer, and its skinned meshes with their armatures: as of the last look. To count objects
# or to find them again by name takes longer the more there are, so these are kept themselves, until
# something was edited or is about to be undone.
_known: tuple[tuple[int, str], list[_Pair]] | None = None
# The selection and the frame, and what was said of it, by who was asked.
_said: tuple[object, dict[object, str | None]] = (None, {})


def forget_skins(*_about: object) -> None:
    """Look for skinned meshes again when they are asked for: something was edited."""
    global _known
    _known = None
    forget_sentences()


def forget_sentences(*_about: object) -> None:
    """Find what was said of the selection again: a frame may show what a script has edited."""
    global _said
    _said = None, {}


def until_edit(
    context: bpy.types.Context, asked: object, find: Callable[[bpy.types.Context], str | None]
) -> str | None:
    """A sentence on the selection, found once for all drawings of a panel until an edit."""
    global _said
    scene, active = context.scene, context.active_object
    selected = frozenset(obj.session_uid for obj in context.selected_objects)
    place = scene.session_uid, context.view_layer.name, scene.frame_current_final
    key = *place, active and active.session_uid, selected
    if _said[0] != key:
        _said = key, {}
    said = _said[1]
    if asked not in said:
        said[asked] = find(context)
    return said[asked]


def _skins(view_layer: bpy.types.ViewLayer) -> list[_Pair]:
    """The meshes with an Armature modifier, but for our hidden ones, and their armatures, by name.

    The objects of others are looked at only after an edit, as when one comes or goes.
    """
    global _known
    key = view_layer.id_data.session_uid, view_layer.name
    if _known is not None and _known[0] == key:
        try:
            return sorted(_known[1], key=_names)
        except ReferenceError:
            pass  # a script has removed one
    pairs = []
    for obj in view_layer.objects:
        # None: a script has just removed one.
        if obj is not None and obj.type == "MESH" and not is_hidden(obj):
            skinned = SkinnedObject(obj)
            if skinned.find_modifier() is not None:
                pairs.append((obj, skinned.find_rig()))
    _known = key, pairs
    return sorted(pairs, key=_names)


def _names(pair: _Pair) -> tuple[str, str]:
    mesh, rig = pair
    return mesh.name, "" if rig is None else rig.name


NOTHING_SELECTED = "Select a character's mesh, its armature or the Empty above them"
"""Why an operator cannot be pressed where the selection leads to no mesh."""


def refused_by_all(
    objects: Iterable[bpy.types.Object], refusal: Callable[[bpy.types.Object], str | None]
) -> str | None:
    """Why something can be done with none of the selected objects; None where it can with one."""
    reasons: dict[str, None] = {}
    for obj in objects:
        reason = refusal(obj)
        if reason is None:
            return None
        reasons[f"{reason.rstrip('.')}."] = None
    return " ".join(list(reasons)[:3]) or NOTHING_SELECTED


def nothing_selected(context: bpy.types.Context) -> str:
    """Why the selection leads to no mesh: of an Empty, that no character is below it."""
    active = context.active_object
    if active is None or active.type != "EMPTY" or active not in context.selected_objects:
        return NOTHING_SELECTED
    return f"No skinned mesh is below {active.name}. Select a character's mesh or its armature"


def deformed_meshes(
    armature: bpy.types.Object, place: bpy.types.ViewLayer | bpy.types.BlendData
) -> list[bpy.types.Object]:
    """The meshes of a view layer, or of the file, whose Armature modifier has this armature.

    They are sorted by name. Modifiers are looked at anew: a script may have just changed them.
    """
    return sorted(
        (
            obj
            for obj in place.objects
            if obj.type == "MESH"
            and not is_hidden(obj)
            and SkinnedObject(obj).find_rig() == armature
        ),
        key=lambda obj: obj.name,
    )


def known_meshes(
    armature: bpy.types.Object, view_layer: bpy.types.ViewLayer
) -> list[bpy.types.Object]:
    """The same for a panel: as of the last edit that Blender has reported."""
    return [mesh for mesh, rig in _skins(view_layer) if rig == armature]


def target_meshes(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The meshes that the selected objects lead to, those of the active object first.

    A mesh leads to itself, an armature to the meshes that it deforms. Any other object, such as the
    Empty above an imported character, leads to the characters below it. The active object counts
    where the selection leads to nothing, as in Pose Mode.
    """
    active = context.active_object
    chosen = sorted(context.selected_objects, key=lambda obj: obj != active)
    found = _meshes_of(chosen, context.view_layer)
    if not found and active is not None:
        found = _meshes_of([active], context.view_layer)
    return found


def _meshes_of(
    chosen: list[bpy.types.Object], view_layer: bpy.types.ViewLayer
) -> list[bpy.types.Object]:
    found: dict[bpy.types.Object, None] = {}
    below: dict[bpy.types.Object, list[bpy.types.Object]] | None = None
    for obj in chosen:
        if is_hidden(obj) or is_posed_copy(obj):
            continue
        meshes: list[bpy.types.Object] = []
        if obj.type == "MESH" and SkinnedObject(obj).find_modifier() is not None:
            meshes = [obj]
        elif obj.type == "ARMATURE":
            meshes = known_meshes(obj, view_layer)
        if not meshes:
            # The scene is searched once, however many objects need it.
            below = _characters_below(view_layer) if below is None else below
            meshes = below.get(obj, [obj] if obj.type == "MESH" else [])
        found.update(dict.fromkeys(meshes))
    return list(found)


def _characters_below(
    view_layer: bpy.types.ViewLayer,
) -> dict[bpy.types.Object, list[bpy.types.Object]]:
    """The skinned meshes below each object that is a parent of one or of its armature, by name."""
    found: dict[bpy.types.Object, list[bpy.types.Object]] = {}
    for obj, rig in _skins(view_layer):
        if is_posed_copy(obj):
            continue
        parents = [*_parents(obj), *(_parents(rig) if rig is not None else ())]
        for parent in dict.fromkeys(parents):
            found.setdefault(parent, []).append(obj)
    return found


def _parents(obj: bpy.types.Object) -> Iterator[bpy.types.Object]:
    while (parent := obj.parent) is not None:
        yield parent
        obj = parent


@dataclass(frozen=True, eq=False)
class SelectedCharacter:
    """An armature with the meshes that it deforms; a mesh without an armature is one by itself.

    Attributes:
        armature: the armature object; None where the only mesh has none.
        meshes: of the view layer, by name; at least one.
    """

    armature: bpy.types.Object | None
    meshes: list[bpy.types.Object]

    @property
    def name(self) -> str:
        """The name of the armature, or of the mesh without one."""
        return (self.armature or self.meshes[0]).name

    @property
    def enabled(self) -> list[bpy.types.Object]:
        """The meshes that DQ Compensation deforms."""
        return [mesh for mesh in self.meshes if is_enabled(mesh)]

    @property
    def together(self) -> list[bpy.types.Object]:
        """The enabled meshes that go with the settings of the character."""
        return [mesh for mesh in self.enabled if armature_with_settings(mesh) is not None]

    @property
    def with_own(self) -> list[bpy.types.Object]:
        """The enabled meshes that have settings of their own."""
        return [mesh for mesh in self.enabled if armature_with_settings(mesh) is None]

    @property
    def keeper(self) -> bpy.types.Object | None:
        """The armature, where it has the settings of the character and can be changed."""
        armature = self.armature
        return armature if has_settings(armature) and armature.library is None else None

    @property
    def owners(self) -> list[bpy.types.Object]:
        """The objects whose settings are those of the character: its armature, or its meshes."""
        if self.keeper is None:
            return self.meshes
        # Where all of them have settings of their own, these are shown.
        return [self.keeper, *([] if self.together else self.with_own)]

    def shown(self, active: bpy.types.Object | None) -> bpy.types.Object:
        """The object whose settings the panel shows as those of the character.

        The armature; where no mesh goes with it, the active mesh or the first, enabled if possible.
        """
        if self.keeper is not None and (self.together or not self.enabled):
            return self.keeper
        meshes = self.enabled or self.meshes
        return active if active is not None and active in meshes else meshes[0]


def selected_characters(context: bpy.types.Context) -> list[SelectedCharacter]:
    """The characters that the selected objects lead to, the active object's first.

    A mesh leads to its character, as `target_meshes` finds it.
    """
    return characters_of(target_meshes(context), context.view_layer)


def characters_of(
    objects: Iterable[bpy.types.Object], view_layer: bpy.types.ViewLayer
) -> list[SelectedCharacter]:
    """The characters of mesh objects, each once, in their order."""
    meshes: dict[bpy.types.Object, list[bpy.types.Object]] = {}
    armatures: dict[bpy.types.Object, bpy.types.Object | None] = {}
    for mesh in objects:
        armature = find_rig(mesh)
        armatures[armature or mesh] = armature
        meshes[armature or mesh] = [mesh] if armature is None else []
    if armatures:
        for obj, armature in _skins(view_layer):
            if armature is not None and armature in meshes:
                meshes[armature].append(obj)
    return [SelectedCharacter(armatures[key], found) for key, found in meshes.items() if found]


def enabled_of_characters(context: bpy.types.Context) -> list[bpy.types.Object]:
    """Those of `meshes_of_characters` that are enabled, linked ones too."""
    return [obj for obj in meshes_of_characters(context) if is_enabled(obj)]


def meshes_of_characters(context: bpy.types.Context) -> list[bpy.types.Object]:
    """All meshes of the characters that the selected objects lead to, the active one first."""
    found = [mesh for character in selected_characters(context) for mesh in character.meshes]
    return sorted(found, key=lambda mesh: mesh != context.active_object)
