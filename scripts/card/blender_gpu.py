"""Blender's `gpu` module on an OpenGL context without Blender, as far as the passes need it.

`install` puts it where Python looks for Blender's: the package then builds its shaders and textures
and runs its passes as in Blender. What it declares of a shader becomes plain GLSL 4.3 here.
"""

from __future__ import annotations

import ctypes
import os
import sys
import weakref
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from ctypes.util import find_library
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import glcontext  # pyright: ignore[reportMissingImports]
import numpy as np
from numpy.typing import NDArray

if sys.platform == "linux":
    os.environ["PYOPENGL_PLATFORM"] = "egl"
import OpenGL  # pyright: ignore[reportMissingImports]

# Each call would ask the driver whether it has failed; `GPUShader` and `problems` ask.
OpenGL.ERROR_CHECKING = False

from OpenGL import GL  # noqa: E402  # pyright: ignore[reportMissingImports]

GL_VERSION = 430
# By the names of Blender: internal format, channels, bytes of a pixel, layout of an image.
_FORMATS = {
    "R32F": (GL.GL_R32F, GL.GL_RED, 4, "r32f"),
    "RG32F": (GL.GL_RG32F, GL.GL_RG, 8, "rg32f"),
    "RGBA32F": (GL.GL_RGBA32F, GL.GL_RGBA, 16, "rgba32f"),
    "RGBA16F": (GL.GL_RGBA16F, GL.GL_RGBA, 8, "rgba16f"),
}
# What a pass has written is what the next one reads, is read back, or is replaced.
_BARRIERS = (
    GL.GL_TEXTURE_FETCH_BARRIER_BIT
    | GL.GL_SHADER_IMAGE_ACCESS_BARRIER_BIT
    | GL.GL_TEXTURE_UPDATE_BARRIER_BIT
)


class NoContextError(RuntimeError):
    """There is no EGL here; says so."""


class Pixels(np.ndarray):
    """The numbers of a texture; Blender's own have `dimensions` to set."""

    dimensions: Any


class GPUTexture:
    """A 2D texture.

    Attributes:
        byte_count: of its pixels.
    """

    def __init__(
        self,
        size: tuple[int, int],
        format: str,  # noqa: A002 - Blender's name
        data: NDArray[np.float32] | None = None,
    ) -> None:
        self.width, self.height = size
        self.format = format
        internal, self._channels, pixel, _ = _FORMATS[format]
        self.byte_count = self.width * self.height * pixel
        self.name = int(GL.glGenTextures(1))
        # The context is gone when Python ends.
        weakref.finalize(self, GL.glDeleteTextures, 1, [self.name]).atexit = False
        GL.glBindTexture(GL.GL_TEXTURE_2D, self.name)
        GL.glTexStorage2D(GL.GL_TEXTURE_2D, 1, internal, *size)
        for name in (GL.GL_TEXTURE_MIN_FILTER, GL.GL_TEXTURE_MAG_FILTER):
            GL.glTexParameteri(GL.GL_TEXTURE_2D, name, GL.GL_NEAREST)
        if data is not None:
            self._write(data)

    def clear(self, format: str, value: tuple[float, ...]) -> None:  # noqa: A002 - Blender's name
        """Set every pixel; `format` is that of the value, always FLOAT here."""
        assert format == "FLOAT"
        self._write(np.tile(np.array(value, np.float32), self.width * self.height))

    def read(self) -> Pixels:
        """All its numbers; waits for the passes before."""
        found = np.zeros((self.height, self.width, _CHANNEL_COUNTS[self._channels]), np.float32)
        GL.glBindTexture(GL.GL_TEXTURE_2D, self.name)
        GL.glGetTexImage(GL.GL_TEXTURE_2D, 0, self._channels, GL.GL_FLOAT, found)
        pixels = found.view(Pixels)
        pixels.dimensions = found.shape
        return pixels

    def _write(self, pixels: NDArray[np.float32]) -> None:
        GL.glBindTexture(GL.GL_TEXTURE_2D, self.name)
        place = (GL.GL_TEXTURE_2D, 0, 0, 0, self.width, self.height)
        GL.glTexSubImage2D(*place, self._channels, GL.GL_FLOAT, pixels)


_CHANNEL_COUNTS = {GL.GL_RED: 1, GL.GL_RG: 2, GL.GL_RGBA: 4}


class GPUStageInterfaceInfo:
    """What a vertex shader passes on to its fragment shader."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.declared: list[tuple[str, str]] = []

    def smooth(self, kind: str, name: str) -> None:
        """Declare a number that is interpolated."""
        self.declared.append(("smooth", f"{kind.lower()} {name};"))

    def flat(self, kind: str, name: str) -> None:
        """Declare a number of the last vertex."""
        self.declared.append(("flat", f"{kind.lower()} {name};"))


class GPUShaderCreateInfo:
    """What a shader reads and writes, and its sources.

    Attributes:
        slots: of samplers and images, by name.
    """

    def __init__(self) -> None:
        self.slots: dict[str, int] = {}
        self._defines: list[str] = []
        self._declared: list[str] = []
        self._of_stage: dict[str, list[str]] = {"compute": [], "vertex": [], "fragment": []}
        self._bodies: dict[str, str] = {}

    def local_group_size(self, x: int, y: int, z: int) -> None:
        """Set the invocations of a group."""
        size = f"local_size_x = {x}, local_size_y = {y}, local_size_z = {z}"
        self._of_stage["compute"].append(f"layout({size}) in;")

    def sampler(self, slot: int, kind: str, name: str) -> None:
        """Declare a texture to read."""
        assert kind == "FLOAT_2D"
        self.slots[name] = slot
        self._declared.append(f"layout(binding = {slot}) uniform sampler2D {name};")

    def image(self, slot: int, kept: str, kind: str, name: str, qualifiers: set[str]) -> None:
        """Declare a texture to write, or to read and write."""
        assert kind == "FLOAT_2D"
        assert qualifiers in ({"WRITE"}, {"READ", "WRITE"})
        access = "" if "READ" in qualifiers else "writeonly "
        self.slots[name] = slot
        layout = f"layout(binding = {slot}, {_FORMATS[kept][3]})"
        self._declared.append(f"{layout} {access}uniform image2D {name};")

    def uniform_buf(self, slot: int, kind: str, name: str) -> None:
        """Declare a uniform block; the name has the number of its elements in brackets."""
        block = f"{name.partition('[')[0]}_block"
        self._declared.append(
            f"layout(binding = {slot}, std140) uniform {block} {{ {kind} {name}; }};"
        )

    def push_constant(self, kind: str, name: str) -> None:
        """Declare a uniform."""
        self._declared.append(f"uniform {kind.lower()} {name};")

    def define(self, name: str, value: str) -> None:
        """Define a macro."""
        self._defines.append(f"#define {name} {value}")

    def vertex_out(self, interface: GPUStageInterfaceInfo) -> None:
        """Declare what the stages pass on."""
        for how, what in interface.declared:
            self._of_stage["vertex"].append(f"{how} out {what}")
            self._of_stage["fragment"].append(f"{how} in {what}")

    def fragment_out(self, slot: int, kind: str, name: str) -> None:
        """Declare the colour."""
        self._of_stage["fragment"].append(f"layout(location = {slot}) out {kind.lower()} {name};")

    def compute_source(self, text: str) -> None:
        """Set the body of a compute shader."""
        self._bodies["compute"] = text

    def vertex_source(self, text: str) -> None:
        """Set the body of a vertex shader."""
        self._bodies["vertex"] = text

    def fragment_source(self, text: str) -> None:
        """Set the body of a fragment shader."""
        self._bodies["fragment"] = text

    @property
    def sources(self) -> dict[str, str]:
        """The whole GLSL of each stage, by its name."""
        return {
            stage: "\n".join(
                (
                    f"#version {GL_VERSION} core",
                    *self._defines,
                    *self._declared,
                    *self._of_stage[stage],
                    body,
                )
            )
            for stage, body in self._bodies.items()
        }


class GPUShader:
    """A linked program.

    Attributes:
        textures: that are set, by the names of samplers and images.
        uniforms: that are set, by name.
        sources: of its stages.
        log: what the compiler said, although it was content.

    Raises:
        RuntimeError: the compiler or linker refuses it; with its message.
    """

    made: ClassVar[list[GPUShader]] = []
    """All of them."""

    def __init__(self, info: GPUShaderCreateInfo) -> None:
        self.slots, self.sources = info.slots, info.sources
        self.textures: dict[str, GPUTexture] = {}
        self.images: set[str] = set()
        self.uniforms: dict[str, Any] = {}
        self.program = GL.glCreateProgram()
        logs = []
        for stage, source in self.sources.items():
            shader = GL.glCreateShader(_STAGES[stage])
            GL.glShaderSource(shader, source)
            GL.glCompileShader(shader)
            passed = GL.glGetShaderiv(shader, GL.GL_COMPILE_STATUS)
            logs.append(_text(GL.glGetShaderInfoLog(shader)))
            if not passed:
                raise RuntimeError(logs[-1])
            GL.glAttachShader(self.program, shader)
        GL.glLinkProgram(self.program)
        logs.append(_text(GL.glGetProgramInfoLog(self.program)))
        if not GL.glGetProgramiv(self.program, GL.GL_LINK_STATUS):
            raise RuntimeError(logs[-1])
        self.log = "\n".join(filter(None, logs))
        GPUShader.made.append(self)

    def bind(self) -> None:
        """Do nothing: `Dispatch` does."""

    def uniform_sampler(self, name: str, texture: GPUTexture) -> None:
        """Set a texture to read."""
        self.textures[name] = texture

    def image(self, name: str, texture: GPUTexture) -> None:
        """Set a texture to write."""
        self.textures[name] = texture
        self.images.add(name)

    def uniform_int(self, name: str, value: int) -> None:
        """Set an int."""
        self.uniforms[name] = int(value)

    def uniform_float(self, name: str, value: Any) -> None:
        """Set a float, or a matrix of 16 in columns."""
        self.uniforms[name] = np.asarray(value, np.float32)

    def set_uniforms(self, values: Mapping[str, Any]) -> None:
        """Hand uniforms to the driver. What the compiler has left out is ignored."""
        for name, value in values.items():
            location = GL.glGetUniformLocation(self.program, name)
            if isinstance(value, int):
                GL.glProgramUniform1i(self.program, location, value)
            elif value.size == 1:
                GL.glProgramUniform1f(self.program, location, float(value))
            else:
                GL.glProgramUniformMatrix4fv(self.program, location, 1, False, value)


_STAGES = {
    "compute": GL.GL_COMPUTE_SHADER,
    "vertex": GL.GL_VERTEX_SHADER,
    "fragment": GL.GL_FRAGMENT_SHADER,
}


def _text(log: bytes | str) -> str:
    return (log.decode(errors="replace") if isinstance(log, bytes) else log).strip("\0\n ")


@dataclass(frozen=True)
class Dispatch:
    """A pass as it was run, to run it again.

    Attributes:
        textures: by the names of samplers and images.
        groups: of invocations, in each dimension.
    """

    shader: GPUShader
    textures: dict[str, GPUTexture]
    uniforms: dict[str, Any]
    groups: tuple[int, int, int]

    @property
    def written(self) -> str:
        """The name of the image that it writes."""
        (name,) = self.shader.images
        return name

    @property
    def byte_count(self) -> int:
        """The bytes of all that it reads and writes, each texture once."""
        return sum({each.name: each.byte_count for each in self.textures.values()}.values())

    def bind(self) -> None:
        """Make everything ready."""
        GL.glUseProgram(self.shader.program)
        self.shader.set_uniforms(self.uniforms)
        for name, texture in self.textures.items():
            slot = self.shader.slots[name]
            if name in self.shader.images:
                layout = (0, False, 0, GL.GL_READ_WRITE, _FORMATS[texture.format][0])
                GL.glBindImageTexture(slot, texture.name, *layout)
            else:
                GL.glActiveTexture(GL.GL_TEXTURE0 + slot)
                GL.glBindTexture(GL.GL_TEXTURE_2D, texture.name)

    def run(self) -> None:
        """Run it, bound."""
        GL.glDispatchCompute(*self.groups)
        GL.glMemoryBarrier(_BARRIERS)

    def seconds(self, times: int) -> float:
        """The time of running it so often, one after the other, by the card's own clock."""
        self.bind()
        before, after = GL.glGenQueries(2)
        # One more, so that the card is busy while the first that counts is on its way.
        self.run()
        GL.glQueryCounter(before, GL.GL_TIMESTAMP)
        for _ in range(times):
            self.run()
        GL.glQueryCounter(after, GL.GL_TIMESTAMP)
        nanoseconds = _timestamp(after) - _timestamp(before)
        GL.glDeleteQueries(2, [before, after])
        return 1e-9 * nanoseconds


def _timestamp(query: Any) -> int:
    found = ctypes.c_uint64()
    GL.glGetQueryObjectui64v(int(query), GL.GL_QUERY_RESULT, ctypes.byref(found))
    return found.value


_recordings: list[list[Dispatch]] = []


@contextmanager
def recorded() -> Generator[list[Dispatch]]:
    """A list of the passes that are run within."""
    found: list[Dispatch] = []
    _recordings.append(found)
    try:
        yield found
    finally:
        _recordings.remove(found)


def _dispatch(shader: GPUShader, x: int, y: int, z: int) -> None:
    done = Dispatch(shader, dict(shader.textures), dict(shader.uniforms), (x, y, z))
    done.bind()
    done.run()
    for recording in _recordings:
        recording.append(done)


def problems() -> list[str]:
    """What the compilers have said of shaders, and what has failed since this was asked."""
    found = [shader.log for shader in GPUShader.made if shader.log]
    failure = int(GL.glGetError())
    return [*found, f"OpenGL: error 0x{failure:x}"] if failure else found


def install(device: int = 0) -> str:
    """Make an OpenGL context and put the module on it where Python looks for Blender's.

    Args:
        device: the number of a card, of several that EGL knows.

    Returns:
        the card, or what emulates one, with its driver.

    Raises:
        NoContextError: this Linux has no EGL.
    """
    make: Any = glcontext.default_backend()
    if sys.platform == "linux":
        if find_library("EGL") is None:
            raise NoContextError("there is no EGL here, which OpenGL without a window needs")
        make = glcontext.get_backend_by_name("egl")
    context = make(mode="standalone", glversion=GL_VERSION, device_index=device)
    context.__enter__()
    _contexts.append(context)
    _replace_modules()
    names = (GL.GL_RENDERER, GL.GL_VENDOR, GL.GL_VERSION)
    return ", ".join(_text(GL.glGetString(name)) for name in names)


# Kept: a context goes with its object.
_contexts: list[Any] = []


def _replace_modules() -> None:
    types = _module(
        "gpu.types", (GPUTexture, GPUShader, GPUShaderCreateInfo, GPUStageInterfaceInfo)
    )
    # For drawing, which stays undone.
    for name in ("GPUBatch", "GPUUniformBuf", "GPUVertBuf", "GPUIndexBuf", "GPUVertFormat"):
        setattr(types, name, type(name, (), {}))
    types.Buffer = lambda _kind, _size, numbers: numbers
    shader, compute = _module("gpu.shader"), _module("gpu.compute")
    shader.create_from_info, shader.unbind = GPUShader, lambda: None
    compute.dispatch = _dispatch
    platform = _module("gpu.platform")
    platform.backend_type_get = lambda: "OPENGL"
    gpu = _module("gpu")
    gpu.types, gpu.shader, gpu.compute, gpu.platform = types, shader, compute, platform


def _module(name: str, content: Iterable[type] = ()) -> Any:
    found: Any = ModuleType(name)
    sys.modules[name] = found
    for each in content:
        setattr(found, each.__name__, each)
    return found
