"""What the operators of example poses share: which character they act on, and how it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from bpy.types import Context, Object, Operator

from ..bake.errors import BakeError
from ..core.example_poses import ExampleError
from ..core.pose import PoseError
from ..examples.items import authoring_problem
from ..examples.target import character_in_hand
from ..scene.errors import BindingError
from ..scene.object_settings import ObjectSettings, settings_of
from ..scene.posed_copies import open_copy_of
from ..scene.status import tag_redraw

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

ERRORS = (ExampleError, BindingError, PoseError, BakeError)

_NOTHING_CHOSEN = "Select a character's mesh, or the armature that deforms it"


class ExampleOperator:
    """An operator on the example poses of the character in hand.

    Attributes:
        changes: it writes to the examples: not on linked objects, and not while one is shaped.
        needs_example: there must be one.
    """

    bl_options = {"REGISTER", "UNDO"}
    changes = True
    needs_example = True

    @classmethod
    def poll(cls, context: Context) -> bool:
        reason = cls.refusal(context)
        if reason is not None:
            cast("type[Operator]", cls).poll_message_set(reason.rstrip("."))
        return reason is None

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        """Why it cannot be done now, or None; cheap."""
        obj = character_in_hand(context)
        if obj is None:
            return _NOTHING_CHOSEN
        if not settings_of(obj).enabled:
            return f"Enable DQ Compensation for {obj.name} first"
        if cls.needs_example and not len(settings_of(obj).examples):
            return f"{obj.name} has no example poses yet. Add one"
        return _changing_refusal(obj) if cls.changes else None

    def execute(self, context: Context) -> set[OperatorReturnItems]:
        operator = cast("Operator", self)
        obj = cast("Object", character_in_hand(context))
        try:
            told, is_complete = self.work(context, obj)
        except ERRORS as error:
            operator.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        tag_redraw()
        operator.report({"INFO" if is_complete else "WARNING"}, told)
        return {"FINISHED"}

    def work(self, context: Context, obj: Object) -> tuple[str, bool]:
        """Do it; what was done, and whether all of it was."""
        raise NotImplementedError


def _changing_refusal(obj: Object) -> str | None:
    if reason := authoring_problem(obj):
        return reason
    if open_copy_of(obj) is not None:
        return f"An example pose of {obj.name} is being shaped. Apply or cancel it first"
    if obj.mode != "OBJECT":
        return f"Leave the mode that {obj.name} is in: go to Object Mode"
    return None


def chosen_index(settings: ObjectSettings, index: int) -> int:
    """Which example is meant.

    Args:
        settings: of the object.
        index: negative means the active one of the list.

    Raises:
        ExampleError: there is no such example.
    """
    found = settings.active_example if index < 0 else index
    if not 0 <= found < len(settings.examples):
        raise ExampleError("Choose an example pose in the list.")
    return found
