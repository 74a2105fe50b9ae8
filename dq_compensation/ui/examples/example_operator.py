"""The base of the operators on example poses: their character, and how they report."""

from __future__ import annotations

from typing import cast

from bpy.props import IntProperty
from bpy.types import Context, Object, Operator, OperatorProperties

from ...core.example_poses import ExampleError
from ...examples.active_character import active_bone, active_character
from ...examples.items import authoring_refusal
from ...scene.copies.posed_copies import open_copy_of
from ...scene.settings.object_settings import settings_of
from ...session.status import tag_redraw
from ..reporting import OperatorResult, Refusing, reports_errors

_NOTHING_CHOSEN = "Select a character's mesh, or the armature that deforms it"


class ExampleOperator(Refusing):
    """An operator on the example poses of the active character.

    Attributes:
        changes: it writes to the examples: not on linked objects, and not while one is shaped.
        needs_example: there must be one.
        for_bone: its tooltip where it acts on a bone, with a place for its whole name.
    """

    changes = True
    needs_example = True
    for_bone = ""

    @classmethod
    def description(cls, context: Context, properties: OperatorProperties) -> str:
        obj = active_character(context)
        bone = active_bone(obj) if obj is not None else ""
        return cls.for_bone.format(bone=bone or "the bone")

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        obj = active_character(context)
        if obj is None:
            return _NOTHING_CHOSEN
        if not settings_of(obj).enabled:
            return f"Enable DQ Compensation for {obj.name} first"
        if cls.needs_example and not len(settings_of(obj).examples):
            return f"{obj.name} has no example poses yet. Add one"
        return _changing_refusal(obj) if cls.changes else None

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        obj = cast("Object", active_character(context))
        summary, is_complete = self.work(context, obj)
        tag_redraw()
        cast("Operator", self).report({"INFO" if is_complete else "WARNING"}, summary)
        return {"FINISHED"}

    def work(self, context: Context, obj: Object) -> tuple[str, bool]:
        """Act; returns a summary, and whether everything was done."""
        raise NotImplementedError


def _changing_refusal(obj: Object) -> str | None:
    if reason := authoring_refusal(obj):
        return reason
    if open_copy_of(obj) is not None:
        return f"An example pose of {obj.name} is being shaped. Apply or cancel it first"
    if obj.mode != "OBJECT":
        return f"Leave the mode that {obj.name} is in: go to Object Mode"
    return None


class OnOneExample(ExampleOperator):
    """An operator on one of the example poses."""

    index: IntProperty(
        name="Index",
        description="The example pose in the list. -1: the active one",
        default=-1,
        options={"HIDDEN"},
    )

    def chosen(self, obj: Object) -> int:
        """The index of the example that is meant.

        Raises:
            ExampleError: there is no such example.
        """
        settings = settings_of(obj)
        found = settings.active_example if self.index < 0 else self.index
        if not 0 <= found < len(settings.examples):
            raise ExampleError("Choose an example pose in the list.")
        return found
