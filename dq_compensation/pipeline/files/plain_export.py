"""Exports characters by Blender's own exporters, as if the add-on were not there.

A modifier of ours changes what exporters do: that of FBX drops shape keys. For as long as an export
takes, our modifiers are off, and the Armature modifier has the user's settings. Nobody of us
follows that.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy

from ...bake.bake_reports import remember_report
from ...errors import FileError, UserError
from ...modifier.modifier_inputs import are_driven, drive_settings, own_drivers, release_settings
from ...modifier.users_settings import end_meanwhile, set_meanwhile
from ...scene.blender.armature import armature_of
from ...scene.blender.own_objects import own_properties
from ...scene.blender.skinned_object import SkinnedObject
from ...scene.settings.object_settings import written_settings
from ...session.changes import unfollowed
from ...wording import listed
from .alembic_files import selected_alone
from .whole_files import cannot_write, read_only_refusal


@dataclass(frozen=True)
class Exporter:
    """One of Blender's exporters.

    Attributes:
        label: of the format.
        module, name: of the operator.
        selected, animation: its options for the selected objects alone, and for motion.
        more: further options that are not its defaults.
    """

    label: str
    module: str
    name: str
    selected: str
    animation: str
    more: Mapping[str, Any]

    @property
    def export(self) -> Callable[..., set[str]]:
        """The operator; UserError where its add-on is turned off or this Blender lacks it."""
        module = getattr(bpy.ops, self.module)
        if self.name not in dir(module):
            raise UserError(
                f"This Blender has no exporter for {self.label}. Turn its add-on on in Edit, "
                "Preferences, Add-ons."
            )
        return getattr(module, self.name)


_USD = Exporter("USD", "wm", "usd_export", "selected_objects_only", "export_animation", {})
EXPORTERS: dict[str, Exporter] = {
    ".fbx": Exporter("FBX", "export_scene", "fbx", "use_selection", "bake_anim", {}),
    ".glb": Exporter(
        *("glTF", "export_scene", "gltf", "use_selection", "export_animations"),
        {"export_format": "GLB"},
    ),
    ".usdc": _USD,
    ".usda": _USD,
    ".usd": _USD,
}
"""By the ending of the file."""


@dataclass(frozen=True)
class PlainExportReport:
    """The result of exporting one character."""

    object_name: str
    path: Path

    def sentence(self) -> str:
        """For the status line and the panel."""
        return f"Exported {self.object_name} as without DQ Compensation to {self.path}."


def export_plain(
    objects: Sequence[bpy.types.Object],
    path: Path,
    *,
    animation: bool = True,
    options: Mapping[str, Any] | None = None,
) -> list[PlainExportReport]:
    """Export objects, and the armatures of characters among them, to one file.

    Args:
        objects: of any kind, in the current view layer.
        path: its ending is the format, one of `EXPORTERS`; an older file is replaced.
        animation: write motion, too.
        options: of Blender's exporter, in place of its defaults.

    Returns:
        a report for each of the objects.

    Raises:
        UserError: the format is not known, or an object is not in the view layer.
        FileError: the file cannot be written.
    """
    exporter = EXPORTERS.get(path.suffix.lower())
    if exporter is None:
        endings = listed(list(EXPORTERS))
        raise UserError(f"The format of {path.name} is not known. Let it end with {endings}.")
    if not path.name or not path.parent.is_dir():
        raise FileError(f"There is no folder {path.parent}. Choose another")
    if (reason := read_only_refusal(path)) is not None:
        raise reason
    export = exporter.export
    exported = _with_armatures(objects)
    chosen = {exporter.selected: True, exporter.animation: animation, **exporter.more}
    with ExitStack() as stack:
        stack.enter_context(unfollowed())
        _show(stack, exported)
        stack.enter_context(selected_alone(exported))
        stack.enter_context(without_ours(exported))
        try:
            done = export(filepath=str(path), **(chosen | dict(options or {})))
        except TypeError as error:
            raise UserError(f"The exporter for {exporter.label}: {error}") from error
        except RuntimeError as error:
            raise FileError(cannot_write(path, str(error).strip())) from error
    if done != {"FINISHED"}:
        raise FileError(f"{path} was not written: the exporter for {exporter.label} gave up.")
    reports = [PlainExportReport(obj.name, path) for obj in objects]
    for obj, report in zip(objects, reports, strict=True):
        remember_report(obj, report.sentence())
    return reports


def _with_armatures(objects: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    found = dict.fromkeys(objects)
    rigs = [SkinnedObject(obj).find_rig() for obj in found]
    found |= dict.fromkeys(rig for rig in rigs if rig is not None)
    return list(found)


def _show(stack: ExitStack, objects: Sequence[bpy.types.Object]) -> None:
    """Show hidden objects until the stack ends: exporters leave them out.

    Raises:
        UserError: one is in no collection that is shown.
    """
    for obj in objects:
        if obj.visible_get():
            continue
        if obj.name in bpy.context.view_layer.objects:
            stack.callback(obj.hide_set, obj.hide_get())
            obj.hide_set(False)
            stack.callback(end_meanwhile, obj, "exported")
            set_meanwhile(obj, "exported")
        if not obj.visible_get():
            raise UserError(
                f"{obj.name} is in no collection that the view layer shows, so exporters leave it "
                "out. Show its collection."
            )


@contextmanager
def without_ours(objects: Iterable[bpy.types.Object]) -> Generator[None]:
    """Take away all of ours that an exporter could see; it is back as it was after the block."""
    with ExitStack() as stack:
        for obj in objects:
            if obj.type == "MESH" and written_settings(obj) is not None:
                _show_plain(stack, SkinnedObject(obj))
            bones = armature_of(obj).bones if obj.type == "ARMATURE" else ()
            for owner in (obj, obj.data, *bones):
                if owner is not None:
                    _take_properties(stack, owner)
        yield


def _show_plain(stack: ExitStack, skinned: SkinnedObject) -> None:
    obj, ours = skinned.obj, skinned.ours
    stack.callback(end_meanwhile, obj, "exported_plain")
    set_meanwhile(obj, "exported_plain")
    if ours is not None and obj.library is None and own_drivers(obj) and are_driven(obj, ours):
        # What has drivers is animated, to some exporters.
        stack.callback(drive_settings, skinned, ours)
        release_settings(skinned)


def _take_properties(stack: ExitStack, owner: bpy.types.ID | bpy.types.Bone) -> None:
    """Take our custom properties away until the stack ends: FBX writes them."""
    for name in own_properties(owner):
        value: Any = owner[name]
        if hasattr(value, "to_dict"):  # a record
            value = value.to_dict()
        stack.callback(owner.__setitem__, name, value)
        del owner[name]
