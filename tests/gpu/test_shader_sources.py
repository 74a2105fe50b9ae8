"""Shader files: includes, and what happens when one is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dq_compensation.viewport.shader_building import SHARED_CONSTANTS
from dq_compensation.viewport.shader_sources import (
    SHADERS_DIRECTORY,
    ShaderSourceError,
    shader_source,
)


def test_an_included_file_appears_once(tmp_path: Path) -> None:
    (tmp_path / "a.glsl").write_text('#include "b.glsl"\n#  include "c.glsl"\nA\n')
    (tmp_path / "b.glsl").write_text('#include "c.glsl"\nB\n')
    (tmp_path / "c.glsl").write_text("C\n")
    assert shader_source("a.glsl", tmp_path).split() == ["C", "B", "A"]


def test_a_missing_include_is_named_with_the_file_that_wants_it(tmp_path: Path) -> None:
    (tmp_path / "a.glsl").write_text('#include "gone.glsl"\n')
    with pytest.raises(ShaderSourceError, match=r"gone\.glsl, which a\.glsl includes"):
        shader_source("a.glsl", tmp_path)


@pytest.mark.parametrize("path", sorted(SHADERS_DIRECTORY.glob("*.glsl")), ids=lambda p: p.name)
def test_every_shader_file_resolves_and_declares_no_bindings(path: Path) -> None:
    text = shader_source(path.name)
    assert "#include" not in text
    declarations = re.findall(r"^\s*(?:layout|uniform|in|out|#version)\b.*", text, re.MULTILINE)
    assert declarations == [], "bindings are declared in Python, once"


@pytest.mark.parametrize("name", SHARED_CONSTANTS)
def test_a_number_that_core_has_stands_in_no_shader(name: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in SHADERS_DIRECTORY.glob("*.glsl")]
    assert any(re.search(rf"\b{name}\b", text) for text in texts), "no shader uses it"
    declared = re.compile(rf"\b(?:float|int|uint|#define)\s+{name}\b")
    assert not any(declared.search(text) for text in texts)
