"""Bakes the selected characters to point caches."""

from __future__ import annotations

from pathlib import Path

import bpy
from bpy.props import EnumProperty, IntProperty, StringProperty
from bpy.types import Context, Event, Object

from ..bake.alembic import write_alembic
from ..bake.bake_reports import remember
from ..bake.baking import RangeOptions, bake_cache
from ..errors import UserError
from ..scene.object_settings import settings_of
from ..wording import counted
from .bake_operators import Bakes, BakesFrames, draw_properties, selected_characters
from .bake_progress import RunsInSteps
from .reporting import OperatorResult, reports_errors

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
    bl_options = {"REGISTER"}

    filepath: StringProperty(subtype="FILE_PATH", options={"SKIP_SAVE"})
    filter_glob: StringProperty(default="*.pc2;*.mdd;*.abc", options={"HIDDEN"})
    cache_format: EnumProperty(name="Format", description="Of the file", items=CACHE_FORMATS)
    step: IntProperty(name="Step", description="Frames from one to the next", default=1, min=1)

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
        path = self._path()
        if not self.filepath or not path.parent.is_dir():
            raise UserError(f"There is no folder {path.parent}. Choose another")
        if self.cache_format == "ALEMBIC":
            return self._export_alembic(targets, path, first, last)
        steps = bake_cache(targets, RangeOptions(first, last, self.step), path, self.cache_format)
        return self.run(context, steps)

    def stopped(self) -> str:
        return "Writing was stopped"

    def _export_alembic(
        self, targets: list[Object], path: Path, first: int, last: int
    ) -> OperatorResult:
        disabled = [obj.name for obj in targets if not settings_of(obj).enabled]
        if disabled:
            names = ", ".join(disabled[:3])
            raise UserError(f"Alembic stores the rendered result: Enable {names} first")
        write_alembic(targets, path, first, last)
        for obj in targets:
            remember(obj, f"Wrote {counted(last - first + 1, 'frame')} of {obj.name} to {path}.")
        self.report({"INFO"}, f"Wrote {counted(last - first + 1, 'frame')} to {path}.")
        return {"FINISHED"}

    def _path(self) -> Path:
        suffix = ".abc" if self.cache_format == "ALEMBIC" else f".{self.cache_format.lower()}"
        path = Path(bpy.path.abspath(self.filepath))
        return path if path.suffix == suffix or not path.name else path.with_suffix(suffix)


CLASSES = (DQC_OT_bake_cache,)
