"""Shared by operators: their result, their refusals, and how they show an error."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from bpy.types import Context, Operator

from ..errors import UserError

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    OperatorResult = set[OperatorReturnItems]
else:
    OperatorResult = set[str]

_Execute = TypeVar("_Execute", bound=Callable[..., Any])


class Refusing:
    """An operator that cannot be pressed while it has a `refusal`; its tooltip shows the reason.

    It changes the file, unless its options say otherwise.
    """

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Context) -> bool:
        reason = cls.refusal(context)
        if reason is not None:
            cast("type[Operator]", cls).poll_message_set(reason.rstrip("."))
        return reason is None

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        """Why it cannot be done now, or None; cheap."""
        raise NotImplementedError


def reports_errors(execute: _Execute) -> _Execute:
    """Decorate an operator's ``execute``: report a `UserError` and cancel."""

    @wraps(execute)
    def execute_and_report(self: Any, context: Context) -> Any:
        try:
            return execute(self, context)
        except UserError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}

    return cast("_Execute", execute_and_report)
