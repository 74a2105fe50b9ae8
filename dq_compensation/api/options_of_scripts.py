"""Gives functions for scripts the options of a dataclass as arguments, for callers and `help`."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from inspect import cleandoc, signature
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from ..errors import UserError
from ..option_fields import Option, options_of
from .arguments_of_scripts import (
    require_choice,
    require_number,
    require_type,
    several,
    several_names,
)

_Arguments = ParamSpec("_Arguments")
_Object = TypeVar("_Object")
_Options = TypeVar("_Options")
_Result = TypeVar("_Result")


def takes_options(
    task: Callable[_Arguments, _Options],
) -> Callable[
    [Callable[[_Object, _Options], _Result]], Callable[Concatenate[_Object, _Arguments], _Result]
]:
    """Decorate a function of an object and of options: scripts call it with each by its name.

    Args:
        task: the dataclass. In the docstring, its options stand where ``{options}`` is.
    """

    def decorate(function: Callable[[_Object, _Options], _Result]) -> Any:
        own = signature(function)
        first = next(iter(own.parameters.values()))
        fields = signature(task).parameters.values()
        called = own.replace(parameters=[first, *fields])

        @wraps(function)
        def with_arguments(*args: Any, **kwargs: Any) -> _Result:
            try:
                found = called.bind(*args, **kwargs).arguments
            except TypeError as error:
                raise UserError(f"{function.__name__}(): {error}.") from None
            subject = found.pop(first.name)
            return function(subject, require_options(cast("Any", task)(**found)))

        cast("Any", with_arguments).__signature__ = called
        texts = "\n".join(map(_described, options_of(task)))
        with_arguments.__doc__ = cleandoc(function.__doc__ or "").replace("    {options}", texts)
        return with_arguments

    return decorate


def require_options(options: _Options) -> _Options:
    """The options, with tuples where they are several values.

    Raises:
        UserError: one of them cannot have its value.
    """
    sequences: dict[str, Any] = {}
    for each in options_of(type(options)):
        value = getattr(options, each.name)
        if each.several:
            is_named = each.value_type is str
            found: tuple[Any, ...] = several_names(value, each.name) if is_named else several(value)
            for number in () if is_named else found:
                require_number(each.name, number, each.minimum, each.maximum)
            sequences[each.name] = found
        elif each.allowed:
            require_choice(each.name, value, each.allowed)
        elif each.value_type in {int, float}:
            noun = each.noun or each.name.replace("_", " ")
            whole = each.value_type is int
            require_number(noun, value, each.minimum, each.maximum, whole=whole)
        elif each.value_type is str:
            require_type(each.name, value, str, "a text")
        elif each.value_type is bool:
            require_type(each.name, value, bool, "True or False")
    return cast("Any", replace)(options, **sequences)


def _described(option: Option) -> str:
    """An option, for the arguments in a docstring."""
    labels = {identifier: f" ({label})" for identifier, label, _ in option.choices}
    choices = [f"{each!r}{labels.get(each, '')}" for each in option.allowed]
    text = f"{option.name}: {option.sentence}" + (f": {', '.join(choices)}" if choices else "")
    return textwrap.fill(f"{text}.", 96, initial_indent=" " * 4, subsequent_indent=" " * 8)
