"""The feature's operators: point caches of characters, and plain exports of what is selected."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty, StringProperty
from bpy.types import Context, Event, Object, Operator

from ...bake.operators import (
    Bakes,
    BakesFrames,
    draw_properties,
    meshes_to_bake,
)
from ...errors import UserError
from ...scene.kept_weights import kept_record
from ...scene.selected_characters import NOTHING_SELECTED, target_meshes
from ...ui_shared.reporting import (
    OperatorResult,
    Outcome,
    Refusing,
    RunsInSteps,
    Steps,
)
from ...wording import counted
from .files import SUFFIXES, bake_cache
from .plain_export import EXPORTERS, export_plain


class ChoosesFile:
    """The dialog of operators that write a file, which is `filepath`."""

    def choose_file(self, context: Context, name: str) -> OperatorResult:
        """Open the file browser; without a path on a file of this name beside the .blend file."""
        if not self.filepath:
            folder = bpy.path.abspath("//") or str(Path.home())
            self.filepath = f"{folder}/{bpy.path.clean_name(name)}"
            self.check(context)
        context.window_manager.fileselect_add(cast("Operator", self))
        return {"RUNNING_MODAL"}

    def check(self, context: Context) -> bool:
        """Let the file's name end as the format wants it."""
        wanted = str(self._path())
        changed = wanted != self.filepath
        self.filepath = wanted
        return changed

    def _path(self) -> Path:
        raise NotImplementedError


_CACHE_FORMATS = (
    ("PC2", "PC2", "Point cache of 3ds Max: one file, every vertex in every frame"),
    ("MDD", "MDD", "Point cache of LightWave: one file, every vertex in every frame"),
    ("ALEMBIC", "Alembic", "Blender's own exporter writes it, with every modifier of the object"),
)


class DQC_OT_bake_cache(ChoosesFile, RunsInSteps, BakesFrames, Bakes):
    """Write the positions of every vertex in every frame for programs that play point caches. The \
characters stay as they are"""

    bl_idname = "dqc.bake_cache"
    bl_label = "Bake to Mesh Cache"
    stopped = "Writing was stopped"
    bl_options = {"REGISTER"}

    filepath: StringProperty(
        name="File Path",
        description="The file to write. Each of several characters gets a file of its own",
        subtype="FILE_PATH",
        options={"SKIP_SAVE"},
    )
    filter_glob: StringProperty(default="*.pc2;*.mdd;*.abc", options={"HIDDEN"})
    cache_format: EnumProperty(
        name="Format", description="The format of the file", items=_CACHE_FORMATS
    )
    step: IntProperty(
        name="Step", description="1 writes every frame, 2 every second frame", default=1, min=1
    )

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        self._interactive = True
        self.first, self.last = self.range(context)
        targets = meshes_to_bake(context)
        return self.choose_file(context, targets[0].name if targets else "cache")

    def draw(self, context: Context) -> None:
        step = () if self.cache_format == "ALEMBIC" else ("step",)
        draw_properties(self, ("cache_format", "first", "last", *step))

    def steps(self, context: Context) -> Steps:
        if not self.filepath:
            raise UserError("Choose a file to write to")
        frames, path = (*self.range(context), self.step), self._path()
        return bake_cache(meshes_to_bake(context), path, self.cache_format, frames)

    def _path(self) -> Path:
        suffix = SUFFIXES[self.cache_format]
        path = Path(bpy.path.abspath(self.filepath))
        return path if path.suffix == suffix or not path.name else path.with_suffix(suffix)


_FORMATS = (
    (".fbx", "FBX", "Written by Blender's own exporter"),
    (".glb", "glTF", "Written by Blender's own exporter, in one file"),
    (".usdc", "USD", "Written by Blender's own exporter"),
)


# The format that each engine imports as its manual says.
_FORMAT_FOR: dict[str, str] = {"GLTF": ".glb", "GODOT": ".glb", "UNITY": ".fbx", "UNREAL": ".fbx"}


class DQC_OT_export_plain(ChoosesFile, Refusing, Operator):
    """Export characters as if DQ Compensation were not there. Their armatures, and what else is \
selected, come with them: plain skin and shape keys. Nothing changes in the file"""

    bl_idname = "dqc.export_plain"
    bl_label = "Export Plain"
    bl_options = {"REGISTER"}

    filepath: StringProperty(
        name="File Path",
        description="The file to write",
        subtype="FILE_PATH",
        options={"SKIP_SAVE"},
    )
    filter_glob: StringProperty(
        default=";".join(f"*{suffix}" for suffix in EXPORTERS), options={"HIDDEN"}
    )
    file_format: EnumProperty(name="Format", description="The format of the file", items=_FORMATS)
    animation: BoolProperty(name="Animation", description="Write the motion, too", default=True)

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return None if _exported(context) else NOTHING_SELECTED

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        objects = _exported(context)
        if not self.properties.is_property_set("file_format"):
            self.file_format = _format_of_bake(objects) or self.file_format
        return self.choose_file(context, objects[0].name)

    def draw(self, context: Context) -> None:
        draw_properties(self, ("file_format", "animation"))

    def act(self, context: Context) -> Outcome:
        objects, path = _exported(context), self._path()
        export_plain(objects, path, animation=self.animation)
        return f"Exported {counted(len(objects), 'object')} to {path}"

    def _path(self) -> Path:
        path = Path(bpy.path.abspath(self.filepath))
        chosen = EXPORTERS[self.file_format]
        fits = EXPORTERS.get(path.suffix.lower()) == chosen
        if fits or not path.name:
            return path
        is_other = path.suffix.lower() in EXPORTERS
        return path.with_suffix(self.file_format) if is_other else Path(f"{path}{self.file_format}")


def _exported(context: Context) -> list[Object]:
    """The characters, and what is selected beside them."""
    characters = [obj for obj in target_meshes(context) if obj.type == "MESH"]
    return list(dict.fromkeys((*characters, *context.selected_objects))) if characters else []


def _format_of_bake(objects: Sequence[Object]) -> str | None:
    """The format for what the helper bones of objects were baked for; None without such."""
    records = (kept_record(obj) for obj in objects if obj.type == "MESH")
    engines = [record.get("engine", "") for record in records if record is not None]
    return next((_FORMAT_FOR[engine] for engine in engines if engine in _FORMAT_FOR), None)


CLASSES = (DQC_OT_bake_cache, DQC_OT_export_plain)
