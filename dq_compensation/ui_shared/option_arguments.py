"""Gives functions for scripts the options of a dataclass as arguments, for callers and `help`."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from inspect import cleandoc, signature
from typing import Any, Concatenate, TypeVar, cast

from ..errors import UserError
from ..scene.settings.declaration import Declared, declared_in
from ..steps import TakesLong
from .arguments import Arguments, Result, require_choice, require_number, require_type, several

_Object = TypeVar("_Object")

_Options = TypeVar("_Options")


def with_option_arguments(
    task: Callable[Arguments, _Options],
) -> Callable[
    [Callable[[_Object, _Options], Result]], Callable[Concatenate[_Object, Arguments], Result]
]:
    """Decorate a function of an object and of options: scripts call it with each by its name.

    Args:
        task: the dataclass, which is `options` of the function then. In the docstring, its options
            stand where ``{options}`` is.
    """

    def decorate(function: Callable[[_Object, _Options], Result]) -> Any:
        own = signature(function)
        first = next(iter(own.parameters.values()))
        fields = signature(task).parameters.values()
        # Of those that are given by their names, it is the last one.
        fields = sorted(fields, key=lambda each: each.name == "progress")
        called = own.replace(parameters=[first, *fields])

        @wraps(function)
        def with_arguments(*args: Any, **kwargs: Any) -> Result:
            try:
                found = called.bind(*args, **kwargs).arguments
            except TypeError as error:
                raise UserError(f"{function.__name__}(): {error}.") from None
            subject = found.pop(first.name)
            return function(subject, require_options(cast("Any", task)(**found)))

        shown = cast("Any", with_arguments)
        shown.__signature__, shown.options = called, task
        texts = [*map(_described, declared_in(cast("type", task)).values())]
        if issubclass(cast("type", task), TakesLong):
            texts.append("    progress: called after each step.")
        described = cleandoc(function.__doc__ or "").replace("    {options}", "\n".join(texts))
        with_arguments.__doc__ = described
        return with_arguments

    return decorate


def require_options(options: _Options) -> _Options:
    """The options, with tuples where they are several values.

    Raises:
        UserError: one of them cannot have its value.
    """
    sequences: dict[str, Any] = {}
    for each in declared_in(type(options)).values():
        value = getattr(options, each.name)
        if not each.several:
            require_value(each, value, each.noun)
            continue
        sequences[each.name] = several(value)
        noun = f"The name of {each.name}" if each.kind is str else each.name
        for one in sequences[each.name]:
            require_value(each, one, noun)
    return cast("Any", replace)(options, **sequences)


def require_value(declared: Declared, value: Any, noun: str) -> None:
    """See that a setting or an option can have a value.

    Args:
        noun: for the value of a number or of a text among several.

    Raises:
        UserError: it cannot.
    """
    if declared.allowed:
        require_choice(declared.name, value, declared.allowed)
    elif declared.kind is str:
        require_type(noun if declared.several else declared.name, value, str, "a text")
    elif declared.kind is bool:
        require_type(declared.name, value, bool, "True or False")
    else:
        require_number(noun, value, *declared.bounds, whole=declared.kind is int)


def _described(option: Declared) -> str:
    """An option, for the arguments in a docstring."""
    labels = {identifier: f" ({label})" for identifier, label, _ in option.choices}
    choices = [f"{each!r}{labels.get(each, '')}" for each in option.allowed]
    text = f"{option.name}: {option.sentence}" + (f": {', '.join(choices)}" if choices else "")
    return textwrap.fill(f"{text}.", 96, initial_indent=" " * 4, subsequent_indent=" " * 8)
