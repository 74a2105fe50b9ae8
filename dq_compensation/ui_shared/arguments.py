"""Arguments of functions for scripts: read, checked, and their long tasks run to the end."""

from __future__ import annotations

import numbers
import os
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import bpy

from ..errors import BindingError, UserError
from ..scene.blender.own_objects import is_posed_copy
from ..scene.blender.rigging import REFUSAL_NO_MESH, REFUSAL_NOT_A_MESH
from ..scene.selected_characters import deformed_meshes
from ..steps import OnProgress
from ..wording import bounded

Objects = bpy.types.Object | Iterable[bpy.types.Object]
"""One object or several; an armature stands for all its meshes."""

AnyPath = str | os.PathLike[str]
"""A path; ``//`` is the folder of the blend file."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def original(obj: bpy.types.Object) -> bpy.types.Object:
    """The original of an object, which may be an evaluated one.

    Raises:
        UserError: it is no object, but None or a name, or it was removed.
    """
    if not isinstance(obj, bpy.types.Object):
        raise UserError(f"{obj!r} is not an object. Give one, like bpy.data.objects['Body'].")
    try:
        return obj.original or obj
    except ReferenceError as error:
        raise UserError("This object was removed from the file. Look it up again.") from error


def mesh_object(obj: bpy.types.Object) -> bpy.types.Object:
    """The original of a mesh object.

    Raises:
        UserError: it is no object.
        BindingError: it is not a mesh.
    """
    obj = original(obj)
    if obj.type != "MESH":
        raise BindingError(REFUSAL_NOT_A_MESH.format(obj=obj.name))
    return obj


def meshes_of(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """The original of a mesh object, or the meshes of an armature, by name.

    Raises:
        UserError: it is no object.
        BindingError: it is neither, or an armature that deforms no mesh.
    """
    obj = original(obj)
    if obj.type != "ARMATURE":
        return [mesh_object(obj)]
    found = deformed_meshes(obj, bpy.data)
    found = [each for each in found if each.users_scene and not is_posed_copy(each)]
    if not found:
        raise BindingError(REFUSAL_NO_MESH.format(armature=obj.name))
    return found


def one_or_all(obj: bpy.types.Object, results: list[Result]) -> Result | list[Result]:
    """The results for the meshes of an armature; the only one for a mesh."""
    return results if obj.type == "ARMATURE" else results[0]


def of_characters(
    function: Callable[Concatenate[bpy.types.Object, Arguments], Result],
) -> Callable[Concatenate[bpy.types.Object, Arguments], Any]:
    """Decorate a function of a mesh object: of an armature, it gives a list for all its meshes."""

    @wraps(function)
    def of_each(obj: bpy.types.Object, *args: Any, **kwargs: Any) -> Any:
        meshes = meshes_of(obj)
        progress: OnProgress | None = kwargs.get("progress")
        results = []
        for number, mesh in enumerate(meshes):
            if callable(progress):
                kwargs["progress"] = _part(progress, number, len(meshes))
            results.append(function(mesh, *args, **kwargs))
        return one_or_all(obj, results)

    return of_each


def _part(progress: OnProgress, number: int, count: int) -> OnProgress:
    """The progress of one of several equal parts."""
    return lambda share, doing: progress((number + share) / count, doing)


def mesh_objects(objects: Objects) -> list[bpy.types.Object]:
    """The originals of one object or several, each once; of an armature all its meshes.

    Raises:
        BindingError: one of them is neither a mesh nor an armature that deforms one.
        UserError: there are none.
    """
    found: list[Any] = list(objects) if isinstance(objects, Iterable) else [objects]
    if isinstance(objects, str):
        found = [objects]
    if not found:
        raise UserError("No object is given.")
    return list(dict.fromkeys(mesh for obj in found for mesh in meshes_of(obj)))


def several(values: Any) -> tuple[Any, ...]:
    """Values such as the names of bones, given as one text or as several values."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return (values,)
    return tuple(values)


def several_names(values: str | Iterable[str], what: str) -> tuple[str, ...]:
    """One name or several.

    Args:
        what: they name, as "bones".

    Raises:
        UserError: one of them is no text.
    """
    found = several(values)
    for each in found:
        require_type(f"The name of {what}", each, str, "a text")
    return found


def objects_of_scene(scene: bpy.types.Scene | None) -> Iterable[bpy.types.Object]:
    """The objects of a scene, by default of the current one.

    Raises:
        UserError: it is no scene, or it was removed.
    """
    if scene is None:
        return bpy.context.scene.objects
    require_type("scene", scene, bpy.types.Scene, "one, like bpy.data.scenes['Scene']")
    try:
        return scene.objects
    except ReferenceError as error:
        raise UserError("This scene was removed from the file. Look it up again.") from error


def chosen_depsgraph(depsgraph: bpy.types.Depsgraph | None) -> bpy.types.Depsgraph:
    """The depsgraph that a script gives, by default the current one, evaluated.

    Raises:
        UserError: it is no depsgraph.
    """
    if depsgraph is None:
        return bpy.context.evaluated_depsgraph_get()
    require_type("depsgraph", depsgraph, bpy.types.Depsgraph, "that of a handler, or none")
    return depsgraph


def file_path(path: AnyPath) -> Path:
    """A path with the folder of the blend file in the place of ``//``.

    Raises:
        UserError: it is no path, or the blend file has no folder yet.
    """
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    require_type("path", text, str, "a text or a pathlib.Path")
    if not text or "\0" in text or not _is_encodable(text):
        raise UserError(f"path cannot be {text!r}. Give the name of a file.")
    if text.startswith("//") and not bpy.data.filepath:
        raise UserError(f"{text} is in the folder of this file, which was never saved. Save it.")
    return Path(bpy.path.abspath(text))


def _is_encodable(text: str) -> bool:
    """Whether a file can have this name in this system's encoding."""
    try:
        os.fsencode(text)
    except UnicodeError:
        return False
    return True


def require_type(name: str, value: object, kind: type, said: str) -> None:
    """See that a value is of a type.

    Args:
        said: what to give.

    Raises:
        UserError: it is not.
    """
    if not isinstance(value, kind):
        raise UserError(f"{name} cannot be {value!r}. Give {said}.")


def require_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """See that a value is one of some.

    Raises:
        UserError: it is another one.
    """
    if value not in choices:
        raise UserError(f"{name} cannot be {value!r}. Choose one of {', '.join(choices)}.")


def require_number(
    name: str, value: float, least: float, most: float = float("inf"), *, whole: bool = False
) -> None:
    """See that a number is within bounds.

    Raises:
        UserError: it is not, or it is not finite, or it has to be whole and is not.
    """
    kind = numbers.Integral if whole else numbers.Real
    lower, upper = max(least, -sys.float_info.max), min(most, sys.float_info.max)
    if isinstance(value, bool) or not (isinstance(value, kind) and lower <= value <= upper):
        bounds = bounded(least, most)
        noun = "whole number" if whole else "number"
        raise UserError(f"The {name} {value!r} cannot be used. Give a {noun} {bounds}.")


@contextmanager
def selection_kept() -> Generator[None]:
    """Restore the selected objects, the active one and its mode after the block."""
    layer = bpy.context.view_layer
    active = layer.objects.active
    mode = active.mode if active is not None else "OBJECT"
    kept = active.session_uid if active is not None else None
    selected = {obj.session_uid for obj in layer.objects if obj.select_get()}
    try:
        yield
    finally:
        for obj in layer.objects:
            if obj.select_get() != (obj.session_uid in selected):
                obj.select_set(obj.session_uid in selected)
        active = next((obj for obj in layer.objects if obj.session_uid == kept), None)
        layer.objects.active = active
        if active is not None and active.mode != mode:
            bpy.ops.object.mode_set(mode=mode)
