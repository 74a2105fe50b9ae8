"""Bakes the selected characters to point caches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import bpy
from bpy.props import EnumProperty, IntProperty, StringProperty
from bpy.types import Context, Event, Object

from ..bake.alembic import write_alembic
from ..bake.errors import BakeError
from ..lifecycle.bake_reports import RangeOptions
from ..lifecycle.baking import bake_cache
from ..registration import apply_in_order, undo_in_reverse
from ..scene.object_settings import settings_of
from ..wording import counted
from .bake_operators import Bakes, bake_targets, draw_properties, scene_range
from .bake_progress import RunsInSteps

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

CACHE_FORMATS = (
    ("PC2", "PC2", "Point cache of 3ds Max: one file, every vertex in every frame"),
    ("MDD", "MDD", "Point cache of LightWave: one file, every vertex in every frame"),
    ("ALEMBIC", "Alembic", "By Blender's own exporter, with every modifier of the object"),
)


class DQC_OT_bake_cache(RunsInSteps, Bakes):
    """Write the positions of every vertex in every frame to a file, for programs that play such \
caches. Nothing in this file changes"""

    bl_idname = "dqc.bake_cache"
    bl_label = "Bake to Mesh Cache"
    bl_options = {"REGISTER"}

    filepath: StringProperty(subtype="FILE_PATH", options={"SKIP_SAVE"})
    cache_format: EnumProperty(name="Format", description="Of the file", items=CACHE_FORMATS)
    first: IntProperty(
        name="First Frame",
        description="Without it the scene's first frame",
        options={"SKIP_SAVE"},
    )
    last: IntProperty(
        name="Last Frame",
        description="Without it the scene's last frame",
        options={"SKIP_SAVE"},
    )
    step: IntProperty(name="Step", description="Frames from one to the next", default=1, min=1)

    def invoke(self, context: Context, event: Event) -> set[OperatorReturnItems]:
        self._interactive = True
        self.first, self.last = scene_range(self, context)
        if not self.filepath:
            targets = bake_targets(context)
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

    def execute(self, context: Context) -> set[OperatorReturnItems]:
        targets = bake_targets(context)
        first, last = scene_range(self, context)
        path = self._path()
        if not self.filepath or not path.parent.is_dir():
            self.report({"ERROR"}, f"There is no folder {path.parent}. Choose another")
            return {"CANCELLED"}
        if self.cache_format == "ALEMBIC":
            return self._export_alembic(targets, path, first, last)
        steps = bake_cache(targets, RangeOptions(first, last, self.step), path, self.cache_format)
        return self.run(context, steps)

    def stopped(self) -> str:
        return "Writing was stopped"

    def _export_alembic(
        self, targets: list[Object], path: Path, first: int, last: int
    ) -> set[OperatorReturnItems]:
        disabled = [obj.name for obj in targets if not settings_of(obj).enabled]
        if disabled:
            names = ", ".join(disabled[:3])
            self.report({"ERROR"}, f"Alembic holds what renders show: Enable {names} first")
            return {"CANCELLED"}
        try:
            write_alembic(targets, path, first, last)
        except BakeError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self.report({"INFO"}, f"Wrote {counted(last - first + 1, 'frame')} to {path}.")
        return {"FINISHED"}

    def _path(self) -> Path:
        suffix = ".abc" if self.cache_format == "ALEMBIC" else f".{self.cache_format.lower()}"
        path = Path(bpy.path.abspath(self.filepath))
        return path if path.suffix == suffix or not path.name else path.with_suffix(suffix)


CLASSES = (DQC_OT_bake_cache,)


def register() -> None:
    """Register the classes."""
    apply_in_order(CLASSES, bpy.utils.register_class, bpy.utils.unregister_class)


def unregister() -> None:
    """Unregister the classes."""
    undo_in_reverse(CLASSES, bpy.utils.unregister_class)
