"""The operator that exports the selected objects as if the add-on were not there."""

from __future__ import annotations

from pathlib import Path

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty
from bpy.types import Context, Event, Object, Operator

from ..scene.selected_characters import NOTHING_SELECTED, target_meshes
from ..ui_shared.reporting import OperatorResult, Refusing, reports_errors
from ..wording import counted
from .plain_export import EXPORTERS, export_plain

_FORMATS = (
    (".fbx", "FBX", "Written by Blender's own exporter"),
    (".glb", "glTF", "Written by Blender's own exporter, in one file"),
    (".usdc", "USD", "Written by Blender's own exporter"),
)


class DQC_OT_export_plain(Refusing, Operator):
    """Export the selected objects, with the armatures of characters, as if DQ Compensation were \
not there: plain skin and shape keys. Nothing changes in the file
    """

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
        if not self.filepath:
            name = bpy.path.clean_name(_exported(context)[0].name)
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
        column = self.layout.column()
        column.use_property_split = True
        column.prop(self, "file_format")
        column.prop(self, "animation")

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        objects, path = _exported(context), self._path()
        export_plain(objects, path, animation=self.animation)
        self.report({"INFO"}, f"Exported {counted(len(objects), 'object')} to {path}")
        return {"FINISHED"}

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


CLASSES = (DQC_OT_export_plain,)
