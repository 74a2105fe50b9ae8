"""Shader files: includes, those that are missing, and bindings that every driver takes."""

from __future__ import annotations

import re
from itertools import chain, combinations
from pathlib import Path

import pytest

from dq_compensation.viewport import shaders
from dq_compensation.viewport.kernels import KERNELS, OPTIONS, PosePaletteLayout
from dq_compensation.viewport.shaders import (
    SHADERS_DIRECTORY,
    SHARED_CONSTANTS,
    Bindings,
    ShaderSourceError,
    compute_shader,
    draw_shader,
    shader_source,
)
from tests.replaced_functions import replace_everywhere


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


@pytest.mark.parametrize("listed", [False, True])
def test_every_driver_takes_the_bindings(listed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """16 samplers for a stage and 128 bytes of push constants are what each must allow."""
    declared: dict[str, Bindings] = {}

    def noted(name: str, bindings: Bindings, *_: object) -> None:
        declared[f"{name} {len(declared)}"] = bindings

    for make in (compute_shader, draw_shader):
        replace_everywhere(monkeypatch, make, noted)
    shaders.free_shaders()
    layout = PosePaletteLayout(rotation=True, dual=True, matrix=True)
    names = (*OPTIONS, "shape_keys")
    some = chain.from_iterable(combinations(names, count) for count in range(len(names) + 1))
    try:
        for options in some:
            for kernel in KERNELS:
                shaders.skinning_shader(kernel, layout, True, options, listed)
        for make in (shaders.surface_shader, shaders.wire_shader):
            make(listed)
        for name in shaders.PASSES:
            shaders.pass_shader(name, layout, listed=listed)
        shaders.overlay_shader()
    finally:
        shaders.free_shaders()
    assert len(declared) == 2 ** len(names) * len(KERNELS) + len(shaders.PASSES) + 3
    sizes = {"INT": 4, "FLOAT": 4, "VEC4": 16, "MAT4": 64}
    for name, bindings in declared.items():
        assert len(bindings.samplers) <= 16, name
        size = 0
        for kind in bindings.push_constants.values():
            size += -size % min(sizes[kind], 16) + sizes[kind]
        assert size <= 128, name
