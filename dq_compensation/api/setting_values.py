"""The settings of a character as values: read, checked, changed together."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import bpy

from ..core.compensation import Curve
from ..core.skeleton import LimbAxis
from ..errors import BindingError, UserError
from ..lifecycle import enabling
from ..scene.object_settings import ChosenMethod, Display, ExampleBase, settings_of
from ..session.settings_writing import writing_settings
from ..session.status import status_of
from .arguments_of_scripts import mesh_object, require_number
from .steps_of_scripts import interrupts_wait


class SettingValues(TypedDict, total=False):
    """The settings that `enable` and `change_settings` take."""

    display: Display
    method: ChosenMethod
    factor: float
    curve: Curve
    vertex_group: str
    blend_group: str
    limb_axis: LimbAxis
    use_mesh_joints: bool
    use_ball_joints: bool
    example_base: ExampleBase


@dataclass(frozen=True)
class CharacterSettings:
    """The settings of one object: those of the panel, by the names of `Object.dq_compensation`.

    Attributes:
        enabled: whether DQ Compensation deforms the object.
        factor: of the compensation, 0 to 1, in the current frame where it is animated.
        vertex_group: scales the compensation per vertex; empty: none.
        blend_group: blends from linear skinning to the method; empty: none.
        limb_axis: the axis of the bones that points along the limb.
        use_mesh_joints: whether compensation acts between bones that continue one another on the
            mesh although neither is above the other.
        use_ball_joints: whether compensation by the curve MEASURED acts at shoulders, hips and
            feet, too.
        example_base: the method that example poses correct.
    """

    enabled: bool
    display: Display
    method: ChosenMethod
    factor: float
    curve: Curve
    vertex_group: str
    blend_group: str
    limb_axis: LimbAxis
    use_mesh_joints: bool
    use_ball_joints: bool
    example_base: ExampleBase


def settings(obj: bpy.types.Object) -> CharacterSettings:
    """The settings of an object, enabled or not.

    Raises:
        BindingError: it is not a mesh.
    """
    chosen: Any = settings_of(mesh_object(obj))
    return CharacterSettings(
        chosen.enabled, **{name: getattr(chosen, name) for name in SettingValues.__annotations__}
    )


def change_settings(obj: bpy.types.Object, **settings: Unpack[SettingValues]) -> None:
    """Change settings of an object together; an enabled one follows at once.

    Args:
        settings: by their names; see `CharacterSettings`.

    Raises:
        BindingError: it cannot be deformed with these settings; they are as before then.
        UserError: it is linked, or a setting cannot have that value.
    """
    obj = mesh_object(obj)
    if reason := enabling.linked_refusal(obj):
        raise UserError(reason)
    with interrupts_wait(), changed_settings(obj, settings):
        pass


@contextmanager
def changed_settings(obj: bpy.types.Object, values: Mapping[str, Any]) -> Generator[None]:
    """Change settings, run the block, and let an enabled object follow.

    Raises:
        UserError: a setting cannot have that value.
        BindingError: an enabled object cannot be deformed any more. As after any error of the
            block, the settings are as before then.
    """
    _require_values(obj, values)
    chosen: Any = settings_of(obj)
    before = {name: getattr(chosen, name) for name in values if chosen.is_property_set(name)}
    known = status_of(obj).problem
    try:
        _write(chosen, values)
        yield
        enabling.settings_changed(obj)
        problem = status_of(obj).problem if chosen.is_enabled else None
        if problem not in (None, known):
            raise BindingError(problem)
    except BaseException:
        _write(chosen, before)
        for name in values.keys() - before.keys():
            chosen.property_unset(name)
        enabling.settings_changed(obj)
        raise


def _write(chosen: Any, values: Mapping[str, Any]) -> None:
    with writing_settings():
        for name, value in values.items():
            setattr(chosen, name, value)


def _require_values(obj: bpy.types.Object, values: Mapping[str, Any]) -> None:
    """See that settings can have these values.

    Raises:
        UserError: one of them cannot.
    """
    chosen: Any = settings_of(obj)
    for name, value in values.items():
        if name not in SettingValues.__annotations__:
            names = ", ".join(SettingValues.__annotations__)
            raise UserError(f"There is no setting {name}. The settings are {names}.")
        described = chosen.bl_rna.properties[name]
        if described.type == "ENUM":
            choices = list(described.enum_items.keys())
            if value not in choices:
                raise UserError(f"{value!r} is no {name}. Choose one of {', '.join(choices)}.")
        elif described.type == "FLOAT":
            require_number(name, value, described.hard_min, described.hard_max)
        elif described.type == "BOOLEAN" and not isinstance(value, bool):
            raise UserError(f"{name} is True or False, not {value!r}.")
        elif described.type == "STRING" and value and str(value) not in obj.vertex_groups:
            raise UserError(f"{obj.name} has no vertex group {value}.")
