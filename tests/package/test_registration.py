"""Registering in order, rolling back when a module fails, unregistering in reverse."""

import sys
from types import ModuleType

import pytest

import dq_compensation


class FakeModule(ModuleType):
    """A registration module that writes down its calls and may fail."""

    def __init__(self, name: str, calls: list[str], *, fails_in: str = "") -> None:
        super().__init__(name)
        self.calls = calls
        self.fails_in = fails_in

    def register(self) -> None:
        self._call("register")

    def unregister(self) -> None:
        self._call("unregister")

    def _call(self, what: str) -> None:
        self.calls.append(f"{what} {self.__name__}")
        if what == self.fails_in:
            raise RuntimeError(f"{self.__name__} cannot {what}")


@pytest.fixture
def calls() -> list[str]:
    return []


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch, calls: list[str]) -> dict[str, FakeModule]:
    """Stand-ins "first", "second", "third" in the place of the add-on's own modules."""
    fakes = {name: FakeModule(name, calls) for name in ("first", "second", "third")}
    for name, fake in fakes.items():
        monkeypatch.setitem(sys.modules, f"dq_compensation.{name}", fake)
    monkeypatch.setattr(dq_compensation, "MODULE_NAMES", tuple(f".{name}" for name in fakes))
    return fakes


@pytest.mark.usefixtures("modules")
def test_registers_in_order_and_unregisters_in_reverse(calls: list[str]) -> None:
    dq_compensation.register()
    dq_compensation.unregister()
    assert calls == [
        *("register first", "register second", "register third"),
        *("unregister third", "unregister second", "unregister first"),
    ]


def test_what_a_module_gives_to_lists_below_is_there_while_it_is_registered(
    modules: dict[str, FakeModule],
) -> None:
    """Functions, and what is none: a page of the manual, for example."""
    asked, pages = ["of another"], list[tuple[str, str]]()
    modules["second"].FOLLOWS = ((asked, max), (pages, ("page", "section")))
    dq_compensation.register()
    assert (asked, pages) == (["of another", max], [("page", "section")])
    dq_compensation.unregister()
    assert (asked, pages) == (["of another"], [])


@pytest.mark.usefixtures("modules")
def test_a_second_call_of_either_does_nothing(calls: list[str]) -> None:
    dq_compensation.register()
    dq_compensation.register()
    dq_compensation.unregister()
    dq_compensation.unregister()
    assert len(calls) == 6


def test_a_module_that_fails_rolls_back_those_before_it_and_raises(
    modules: dict[str, FakeModule], calls: list[str]
) -> None:
    modules["third"].fails_in = "register"
    with pytest.raises(RuntimeError, match="third cannot register"):
        dq_compensation.register()
    assert calls[3:] == ["unregister second", "unregister first"]


def test_registers_again_after_a_failure(modules: dict[str, FakeModule], calls: list[str]) -> None:
    modules["second"].fails_in = "register"
    with pytest.raises(RuntimeError):
        dq_compensation.register()
    modules["second"].fails_in = ""
    calls.clear()
    dq_compensation.register()
    dq_compensation.unregister()
    assert len(calls) == 6


def test_a_module_that_is_missing_registers_nothing(
    monkeypatch: pytest.MonkeyPatch, modules: dict[str, FakeModule], calls: list[str]
) -> None:
    monkeypatch.setattr(dq_compensation, "MODULE_NAMES", (".first", ".absent"))
    with pytest.raises(ModuleNotFoundError, match="absent"):
        dq_compensation.register()
    assert calls == []


def test_the_first_error_survives_when_rolling_back_fails_too(
    modules: dict[str, FakeModule], calls: list[str]
) -> None:
    modules["second"].fails_in = "unregister"
    modules["third"].fails_in = "register"
    with pytest.raises(RuntimeError, match="third cannot register"):
        dq_compensation.register()
    assert calls[-1] == "unregister first"


def test_unregistering_goes_on_past_a_failure_and_then_raises_it(
    modules: dict[str, FakeModule], calls: list[str]
) -> None:
    modules["second"].fails_in = "unregister"
    dq_compensation.register()
    with pytest.raises(RuntimeError, match="second cannot unregister"):
        dq_compensation.unregister()
    assert calls[-1] == "unregister first"


@pytest.fixture
def blender_module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module in the place of the add-on's own that declares one class and one handler."""
    bpy = pytest.importorskip("bpy")

    class Declared(bpy.types.PropertyGroup):  # type: ignore[misc, name-defined]
        pass

    def on_undo(*_args: object) -> None:
        pass

    module = ModuleType("declaring")
    module.CLASSES = (Declared,)  # type: ignore[attr-defined]
    module.HANDLERS = (("undo_post", on_undo),)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dq_compensation.declaring", module)
    monkeypatch.setattr(dq_compensation, "MODULE_NAMES", (".declaring",))
    return module


def what_blender_knows(module: ModuleType) -> tuple[bool, int]:
    """Whether the module's class is registered, and how often its handler is."""
    import bpy

    handler = module.HANDLERS[0][1]
    return module.CLASSES[0].is_registered, bpy.app.handlers.undo_post.count(handler)


def test_registers_what_a_module_declares(blender_module: ModuleType) -> None:
    dq_compensation.register()
    try:
        assert what_blender_knows(blender_module) == (True, 1)
        handler = blender_module.HANDLERS[0][1]
        assert hasattr(handler, "_bpy_persistent"), "it would be lost when a file is loaded"
    finally:
        dq_compensation.unregister()
    assert what_blender_knows(blender_module) == (False, 0)


def test_unregisters_after_another_script_has_cleared_a_list(blender_module: ModuleType) -> None:
    import bpy

    dq_compensation.register()
    bpy.app.handlers.undo_post.clear()
    dq_compensation.unregister()
    assert what_blender_knows(blender_module) == (False, 0)


@pytest.mark.parametrize("broken", ["CLASSES", "HANDLERS", "register"])
def test_rolls_back_within_a_module(
    monkeypatch: pytest.MonkeyPatch, blender_module: ModuleType, broken: str
) -> None:
    import bpy

    class Undrawn(bpy.types.Panel):
        """Cannot be registered: it has no ``draw``."""

        bl_space_type = "VIEW_3D"
        bl_region_type = "UI"

    def fail() -> None:
        raise RuntimeError("cannot register")

    values = {"register": fail, "CLASSES": (Undrawn,), "HANDLERS": (("no_such_event", fail),)}
    declared = getattr(blender_module, broken, ())
    value = values[broken]
    if isinstance(value, tuple):
        value = (*declared, *value)
    changed = ModuleType("changed")
    changed.__dict__.update(vars(blender_module) | {broken: value})
    monkeypatch.setitem(sys.modules, "dq_compensation.declaring", changed)
    with pytest.raises((RuntimeError, AttributeError)):
        dq_compensation.register()
    assert what_blender_knows(blender_module) == (False, 0)


def test_real_modules_roll_back_in_blender(monkeypatch: pytest.MonkeyPatch) -> None:
    bpy = pytest.importorskip("bpy")
    broken = FakeModule("broken", [], fails_in="register")
    monkeypatch.setitem(sys.modules, "dq_compensation.broken", broken)
    names = (*dq_compensation.MODULE_NAMES, ".broken")
    monkeypatch.setattr(dq_compensation, "MODULE_NAMES", names)
    with pytest.raises(RuntimeError, match="broken cannot register"):
        dq_compensation.register()
    assert not hasattr(bpy.types.Object, "dq_compensation")
    assert not any(name.startswith("DQC_") for name in dir(bpy.types))
