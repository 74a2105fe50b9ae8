"""What the interface says is there in Japanese and in Simplified Chinese, and nothing else is."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from string import Formatter
from types import SimpleNamespace
from typing import Any

import bpy
import pytest

import dq_compensation
from dq_compensation.painting.compensation_weights import PAINTED_GROUPS
from dq_compensation.translations import languages
from dq_compensation.translations.languages import LANGUAGES
from dq_compensation.ui import looks
from dq_compensation.ui_shared.sidebar import SubPanel
from environments import PROJECT

pytestmark = pytest.mark.usefixtures("addon")

# Shown by no panel.
UNSEEN = {"DQCompensationNativeState"}
# Blender's types that have properties of ours.
OWNERS = (bpy.types.Object, bpy.types.Bone, bpy.types.Armature, bpy.types.WindowManager)
# The arguments of layouts and dialogs that are shown.
SHOWN = {"text", "heading", "confirm_text", "confirm", "title", "label", "button"}
# The function that translates its argument.
SAYING = "pgettext_tip"


def _texts_of(properties: Any) -> Iterator[str]:
    for each in properties:
        # What is not shown has no name.
        if each.name != each.identifier:
            yield each.name
        yield each.description
        if each.type == "ENUM":
            for item in each.enum_items:
                yield from (item.name, item.description)


def _own(of: Any, base: Any) -> list[Any]:
    inherited = {"rna_type", *(base.properties.keys() if base else ())}
    return [each for each in of.properties if each.identifier not in inherited]


def _registered_texts() -> Iterator[str]:
    """Names and tooltips of all classes, of their properties and of those of Blender's types."""
    for name in dq_compensation.MODULE_NAMES:
        for cls in getattr(import_module(name, "dq_compensation"), "CLASSES", ()):
            if cls.__name__ in UNSEEN:
                continue
            of, base = cls.bl_rna, cls.bl_rna.base
            if issubclass(cls, bpy.types.Operator):
                group, name_in_group = cls.bl_idname.split(".")
                of, base = getattr(getattr(bpy.ops, group), name_in_group).get_rna_type(), None
            # Blender gives the menu of presets the name of the last one.
            is_renamed = cls is looks.DQC_MT_presets
            yield "Look" if is_renamed else getattr(cls, "bl_label", "")
            yield getattr(cls, "for_bone", "")
            yield of.description
            yield from _texts_of(_own(of, base))
    for owner in OWNERS:
        yield from _texts_of(p for p in owner.bl_rna.properties if p.identifier.startswith("dq"))


def _all_sub_panels(cls: type) -> Iterator[Any]:
    for each in cls.__subclasses__():
        yield from (each, *_all_sub_panels(each))


def _literals(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from (*_literals(node.body), *_literals(node.orelse))


def _drawn_texts() -> Iterator[str]:
    """Titles of sub-panels, and the texts without values that the code draws."""
    yield from (each.title for each in _all_sub_panels(SubPanel) if hasattr(each, "title"))
    yield from (group.button for group in PAINTED_GROUPS.values())
    for path in (PROJECT / "dq_compensation").rglob("*.py"):
        if "command_line" in path.parts:
            continue
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call):
                continue
            for argument in call.keywords:
                if argument.arg in SHOWN:
                    yield from _literals(argument.value)
            called = getattr(call.func, "id", "")
            if called == SAYING:
                yield from _literals(call.args[0])
            elif called == "_titled":
                yield from _literals(call.args[1])
            elif called == "Message":
                yield from (text for button in call.args[3:] for text in _literals(button))


def _with_words(texts: Iterator[str]) -> set[str]:
    """Those that are more than a letter and signs, such as the name of an axis."""
    return {text for text in texts if sum(map(str.isalpha, text)) > 1}


def _fields(text: str) -> Counter[tuple[str | None, str | None]]:
    found = Counter((name, form) for _, name, form, _ in Formatter().parse(text))
    del found[None, None]
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_name_tooltip_title_and_button_is_translated_and_nothing_else(language: str) -> None:
    said = _with_words(_registered_texts()) | _with_words(_drawn_texts())
    assert len(said) > 600  # they were gathered
    assert sorted(said - LANGUAGES[language].keys()) == []
    assert sorted(LANGUAGES[language].keys() - said) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_have_the_same_placeholders_numbers_and_signs(language: str) -> None:
    """Half width and full width signs are the same here; a number in words may become digits."""
    full_width = str.maketrans("（）：", "():")
    differing = []
    for text, translation in LANGUAGES[language].items():
        plain = translation.translate(full_width)
        numbers = Counter(re.findall(r"\d+(?:\.\d+)?", text))
        same = (
            _fields(text) == _fields(translation)
            and not numbers - Counter(re.findall(r"\d+(?:\.\d+)?", plain))
            and text.endswith(".") == translation.endswith("。")
            and text.endswith(":") == plain.endswith(":")
            and all((sign in text) <= (sign in plain) for sign in ("%", "°", "(mm)", "Esc", "Alt"))
            and translation == translation.strip() != ""
            # What stands in quotes or brackets ends.
            and all(plain.count(a) == plain.count(b) for a, b in ("()", "「」", "“”"))
        )
        if not same:
            differing.append(f"{text} -> {translation}")
    assert differing == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_are_in_the_letters_of_their_language(language: str) -> None:
    """Only names of programs, formats and colours stay as they are."""
    letters = {"ja": r"[\u3040-\u30ff\u4e00-\u9fff]", "zh_HANS": r"[\u4e00-\u9fff]"}[language]
    texts = LANGUAGES[language]
    unchanged = {text for text, said in texts.items() if not re.search(letters, said)}
    names = {"Viridis", "Cividis", "Magma", "DQ Compensation", "glTF", "glTF / Web", "FBX", "USD"}
    names |= {"Unity", "Godot", "Unreal", "PC2", "MDD", "Alembic", "GPU"}
    assert unchanged == names
    if language == "zh_HANS":
        assert [said for said in texts.values() if re.search(r"[\u3040-\u30ff]", said)] == []


def test_names_of_buttons_and_titles_that_others_quote_are_translated_alike() -> None:
    """A tooltip that quotes a name of ours has the name that the button has."""
    quotes = {"ja": r"「(.+?)」", "zh_HANS": r"“(.+?)”"}
    unknown = []
    for language, texts in LANGUAGES.items():
        names = set(texts.values())
        quoted = [name for said in texts.values() for name in re.findall(quotes[language], said)]
        assert len(quoted) > 30
        unknown += [name for name in quoted if name not in names]
    assert unknown == []


def test_blender_gets_them_for_texts_and_for_buttons_and_they_are_taken_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The module bpy has no translations: Blender's rules stand in, a name is there once."""
    given: dict[str, dict[str, dict[tuple[str, str], str]]] = {}

    def register(name: str, messages: dict[str, dict[tuple[str, str], str]]) -> None:
        assert name not in given
        given[name] = messages

    contexts = bpy.app.translations.contexts
    stand_in = SimpleNamespace(register=register, unregister=given.__delitem__, contexts=contexts)
    app = SimpleNamespace(translations=stand_in)
    monkeypatch.setattr(languages, "bpy", SimpleNamespace(app=app))
    for _ in range(3):
        languages.register()
        (messages,) = given.values()
        # As Blender itself has them.
        assert messages["ja"]["*", "Bone"] == "ボーン"
        assert messages["zh_HANS"]["*", "Bone"] == "骨骼"
        for language, texts in LANGUAGES.items():
            assert messages[language]["Operator", "Bake Pose"] == texts["Bake Pose"]
            assert len(messages[language]) == 2 * len(texts)
        languages.unregister()
        assert given == {}
