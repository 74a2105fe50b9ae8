"""Write what the page on extensions.blender.org shows: its text and its pictures.

The text is the README's, without what is for contributors. The pictures are those of `docs/`, in
the sizes that the platform asks for: an icon of 256 x 256, a featured picture of 1920 x 1080,
previews of 16 : 9.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from PIL import Image, ImageOps

from listing_icon import icon

FEATURED = "before_after.jpg"
PREVIEWS = (
    "softened.jpg",
    "comparison.png",
    "setup_check.jpg",
    "painting.jpg",
    "by_example.jpg",
    "crowd.jpg",
)
SIZE = (1920, 1080)
BACKGROUND = (38, 38, 38)
# Sections of the README: how to get the source, and how to work on it.
FOR_CONTRIBUTORS = ("Install", "Two commands", "Development")
MANUAL = (
    "The manual is part of the add-on: press the question mark in the header of a panel. "
    "It needs no network."
)
_PICTURE = re.compile(r"^!\[[^\]]*\]\([^)]*\)\n+", flags=re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)")


def missing_from_listing(project: Path) -> list[str]:
    """What a listing needs that a project does not have.

    Args:
        project: the folder with `README.md` and `docs`.
    """
    pictures = (FEATURED, *PREVIEWS)
    reasons = [
        f"The picture docs/{name} is missing."
        for name in pictures
        if not (project / "docs" / name).exists()
    ]
    readme = (project / "README.md").read_text(encoding="utf-8")
    reasons += [
        f'README.md has no section "{name}": scripts/listing.py leaves it out of the listing.'
        for name in FOR_CONTRIBUTORS
        if f"\n## {name}\n" not in readme
    ]
    return reasons


def write_listing(project: Path, folder: Path, facts: dict[str, Any], notes: str) -> list[Path]:
    """Write the text and the pictures of the listing.

    Args:
        project: the folder with `README.md` and `docs`.
        folder: where the files go.
        facts: of the manifest.
        notes: what is new in this version.

    Returns:
        the files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    readme = (project / "README.md").read_text(encoding="utf-8")
    written = {
        "listing.md": listing_text(readme, facts),
        "release_notes.md": notes + "\n",
    }
    for name, text in written.items():
        (folder / name).write_text(text, encoding="utf-8")
    icon().save(folder / "icon.png")
    names = [*written, "icon.png"]
    for number, name in enumerate((FEATURED, *PREVIEWS)):
        target = "featured.jpg" if number == 0 else f"preview_{number}_{Path(name).stem}.jpg"
        fitted(Image.open(project / "docs" / name)).save(folder / target, quality=92)
        names.append(target)
    return [folder / name for name in names]


def listing_text(readme: str, facts: dict[str, Any]) -> str:
    """The description of the listing, in Markdown.

    The platform shows name, tagline and licence beside it, and pictures above it. Its pages cannot
    link to files of the project: such links become bold.

    Args:
        readme: the README.
        facts: of the manifest.
    """
    _title, introduction, *rest = re.split(r"^# .*\n|^(?=## )", readme, flags=re.MULTILINE)
    sections = [introduction, *(s for s in rest if _heading(s) not in FOR_CONTRIBUTORS)]
    text = _LINK.sub(r"**\1**", _PICTURE.sub("", "".join(sections))).strip()
    used = "\n".join(f"- {name}: {reason}." for name, reason in facts["permissions"].items())
    return f"{text}\n\n{MANUAL}\n\n## Permissions\n{used}\n"


def _heading(section: str) -> str:
    return section.partition("\n")[0].removeprefix("## ")


def fitted(picture: Image.Image) -> Image.Image:
    """A picture as large as fits into 1920 x 1080, on a plain background."""
    return ImageOps.pad(picture.convert("RGB"), SIZE, Image.Resampling.LANCZOS, BACKGROUND)
