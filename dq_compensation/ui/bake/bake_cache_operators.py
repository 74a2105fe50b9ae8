"""Bakes the selected characters to point caches."""

from __future__ import annotations

from pathlib import Path

import bpy
from bpy.props import EnumProperty, IntProperty, StringProperty
from bpy.types import Context, Event

from ...bake.files.cache_baking import SUFFIXES, bake_cache
from ...errors import UserError
from ..reporting import OperatorResult, reports_errors
from .bake_operators import (
    Bakes,
    BakesFrames,
    draw_properties,
    report_sentences,
    selected_characters,
)
from .bake_progress import RunsInSteps

CACHE_FORMATS = (
    ("PC2", "PC2", "Point cache of 3ds Max: one file, every vertex in every frame"),
    ("MDD", "MDD", "Point cache of LightWave: one file, every vertex in every frame"),
    ("ALEMBIC", "Alembic", "Blender's own exporter writes it, with every modifier of the object"),
)


class DQC_OT_bake_cache(RunsInSteps, BakesFrames, Bakes):
    """Write the positions of every vertex in every frame to a file, for programs that play point \
caches. The characters stay as they are"""

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
        name="Format", description="The format of the file", items=CACHE_FORMATS
    )
    step: IntProperty(
        name="Step", description="1 writes every frame, 2 every second frame", default=1, min=1
    )

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        self._interactive = True
        self.first, self.last = self.range(context)
        if not self.filepath:
            targets = selected_characters(context)
            name = bpy.path.clean_name(targets[0].name) if targets else "cache"
            self.filepath = f"{bpy.path.abspath('//') or str(Path.home())}/{name}"
            self.check(context)
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def check(self, context: Context) -> bool:
        """Let the file's name end as the format wants it."""
        wanted = str(self._path())
        changed = wanted != self.filepath
        self.filepath = wanted
        return changed

    def draw(self, context: Context) -> None:
        step = () if self.cache_format == "ALEMBIC" else ("step",)
        draw_properties(self, ("cache_format", "first", "last", *step))

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        targets = selected_characters(context)
        first, last = self.range(context)
        if not self.filepath:
            raise UserError("Choose a file to write to")
        steps = bake_cache(targets, self._path(), self.cache_format, (first, last, self.step))
        return self.run(context, report_sentences(steps))

    def _path(self) -> Path:
        suffix = SUFFIXES[self.cache_format]
        path = Path(bpy.path.abspath(self.filepath))
        return path if path.suffix == suffix or not path.name else path.with_suffix(suffix)


CLASSES = (DQC_OT_bake_cache,)
