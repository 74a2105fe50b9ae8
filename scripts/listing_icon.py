"""Draw the add-on's icon: a bent limb, its bones, and behind it the bulge that is gone.

.venv-5.2/bin/python scripts/listing_icon.py icon.png
"""

from __future__ import annotations

import sys
from math import cos, pi, sin

from PIL import Image, ImageDraw

SIZE = 256
# Drawn larger and scaled down: Pillow's lines have no smooth edges.
_SCALE = 4
_GROUND, _BULGE, _LIMB, _BONE = (45, 47, 51), (96, 100, 108), (224, 160, 92), (38, 38, 42)

Point = tuple[float, float]


def icon() -> Image.Image:
    """The icon, 256 x 256, with transparent corners."""
    large = Image.new("RGBA", (SIZE * _SCALE, SIZE * _SCALE))
    draw = ImageDraw.Draw(large)

    def scaled(*points: Point) -> list[Point]:
        return [(x * _SCALE, y * _SCALE) for x, y in points]

    def disc(centre: Point, radius: float, colour: tuple[int, ...]) -> None:
        (x, y), r = centre, radius
        draw.ellipse(scaled((x - r, y - r), (x + r, y + r)), fill=colour)

    draw.rounded_rectangle(scaled((0, 0), (SIZE, SIZE)), 40 * _SCALE, fill=_GROUND)
    joint, radius, length = (96.0, 150.0), 38.0, 104.0
    ends = [_along(joint, angle, length) for angle in (-80.0, 10.0)]
    # A bulge is beyond the joint, on the outside of the bend.
    disc(_along(joint, 145.0, 16.0), radius + 9.0, _BULGE)
    disc(joint, radius, _LIMB)
    for end in ends:
        draw.line(scaled(joint, end), fill=_LIMB, width=round(2 * radius * _SCALE))
        disc(end, radius, _LIMB)
    for angle, end in zip((-80.0, 10.0), ends, strict=True):
        wide = _along(joint, angle, 22.0)
        sides = [_along(wide, angle + turn, 11.0) for turn in (90.0, -90.0)]
        draw.polygon(scaled(joint, sides[0], end, sides[1]), fill=_BONE)
        disc(end, 5.0, _BONE)
    disc(joint, 8.0, _BONE)
    return large.resize((SIZE, SIZE), Image.Resampling.LANCZOS)


def _along(start: Point, degrees: float, length: float) -> Point:
    """The point in a distance and direction; 0 points right, 90 down."""
    angle = degrees * pi / 180.0
    return start[0] + length * cos(angle), start[1] + length * sin(angle)


if __name__ == "__main__":
    icon().save(sys.argv[1])
