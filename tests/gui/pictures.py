"""Pictures of the screen, and how much two of them differ."""

from __future__ import annotations

import ctypes
import struct
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

# Of 255. Shading that is computed in another order differs by 1 or 2.
_SEEN = 12


@dataclass(frozen=True, eq=False)
class Picture:
    """Shape (height, width, 3), uint8, the first row on top."""

    pixels: NDArray[np.uint8]

    def changed_from(self, other: Picture) -> float:
        """The part of the pixels, 0 to 1, in which a channel differs by more than 12 of 255."""
        if self.pixels.shape != other.pixels.shape:
            return 1.0
        return float(self._differs(other).mean())

    def silhouette_changed_from(self, other: Picture, empty: Picture) -> float:
        """The part of the pixels that only one of two pictures has the character in.

        Args:
            empty: the view without it.
        """
        return float((self._differs(empty) != other._differs(empty)).mean())

    def _differs(self, other: Picture) -> NDArray[np.bool_]:
        off = np.abs(self.pixels.astype(np.int16) - other.pixels.astype(np.int16))
        return (off > _SEEN).any(axis=2)

    def cropped(self, region: Any) -> Picture:
        """The part that a region shows."""
        bottom = len(self.pixels) - region.y
        columns = slice(region.x, region.x + region.width)
        return Picture(self.pixels[bottom - region.height : bottom, columns])

    def save(self, path: Path) -> None:
        """Write a PNG."""
        height, width, _ = self.pixels.shape
        rows = np.zeros((height, 1 + 3 * width), np.uint8)
        rows[:, 1:] = self.pixels.reshape(height, -1)
        parts = (
            (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
            (b"IDAT", zlib.compress(rows.tobytes(), 3)),
            (b"IEND", b""),
        )
        with path.open("wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n")
            for kind, content in parts:
                checksum = zlib.crc32(kind + content)
                file.write(struct.pack(">I", len(content)) + kind + content)
                file.write(struct.pack(">I", checksum))


def screen_picture(window: Any) -> Picture:
    """What a window shows now.

    On a virtual screen Blender's own screenshot is black with OpenGL. Nothing but Blender's window
    is on it, so X11 is asked for the picture of the screen.
    """
    picture = _by_x11(window.width, window.height)
    return _by_blender(window) if picture is None else picture


def _by_blender(window: Any) -> Picture:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "screen.png")
        with bpy.context.temp_override(window=window):
            bpy.ops.screen.screenshot(filepath=str(path))
        image = bpy.data.images.load(str(path))
        width, height = image.size
        values = np.empty(width * height * 4, np.float32)
        image.pixels.foreach_get(values)
        bpy.data.images.remove(image)
    values = values.reshape(height, width, 4)[::-1, :, :3]
    return Picture(np.round(values * 255.0).astype(np.uint8))


class _XImage(ctypes.Structure):
    """The beginning of X11's XImage."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("width", "height", "xoffset", "format")),
        ("data", ctypes.c_void_p),
        *(
            (name, ctypes.c_int)
            for name in ("byte_order", "unit", "bit_order", "pad", "depth", "bytes_per_line")
        ),
        ("bits_per_pixel", ctypes.c_int),
    )


def _by_x11(width: int, height: int) -> Picture | None:
    """What is on a virtual screen; None without X11, or where other windows may be on it."""
    try:
        x11 = ctypes.CDLL("libX11.so.6")
    except OSError:
        return None
    x11.XOpenDisplay.restype = ctypes.c_void_p
    x11.XDefaultRootWindow.restype = ctypes.c_ulong
    x11.XDefaultRootWindow.argtypes = (ctypes.c_void_p,)
    x11.XGetImage.restype = ctypes.POINTER(_XImage)
    x11.XGetImage.argtypes = (
        *(ctypes.c_void_p, ctypes.c_ulong, ctypes.c_int, ctypes.c_int),
        *(ctypes.c_uint, ctypes.c_uint, ctypes.c_ulong, ctypes.c_int),
    )
    x11.XInternAtom.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int)
    x11.XInternAtom.restype = ctypes.c_ulong
    x11.XDisplayWidth.argtypes = x11.XDisplayHeight.argtypes = (ctypes.c_void_p, ctypes.c_int)
    x11.XFree.argtypes = x11.XCloseDisplay.argtypes = (ctypes.c_void_p,)
    display = x11.XOpenDisplay(None)
    if not display:
        return None
    try:
        # Every window manager has made this name known.
        managed = x11.XInternAtom(display, b"_NET_SUPPORTING_WM_CHECK", True)
        screen = x11.XDisplayWidth(display, 0), x11.XDisplayHeight(display, 0)
        if managed or screen[0] < width or screen[1] < height:
            return None
        root = x11.XDefaultRootWindow(display)
        every_plane, z_pixmap = 2**32 - 1, 2
        image = x11.XGetImage(display, root, 0, 0, width, height, every_plane, z_pixmap)
        if not image or image.contents.bits_per_pixel != 32:
            return None
        line = image.contents.bytes_per_line
        raw = ctypes.string_at(image.contents.data, line * height)
        x11.XFree(image.contents.data)
        x11.XFree(image)
    finally:
        x11.XCloseDisplay(display)
    rows = np.frombuffer(raw, np.uint8).reshape(height, line)[:, : 4 * width]
    return Picture(rows.reshape(height, width, 4)[:, :, 2::-1].copy())
