"""Write what the page on extensions.blender.org shows: its text and its pictures.

The text is the README's, without what is for contributors. The pictures are those of `docs/`, in
the sizes that the platform asks for: an icon of 256 x 256, a featured picture of 1920 x 1080,
previews of 16 : 9, and an animation. Renders have that size; screenshots get a border.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from PIL import Image

from listing_icon import icon

ANIMATION = "motion.webp"
RENDERS = tuple(f"listing/{name}.jpg" for name in ("solved", "softened", "dressed", "crowd"))
SCREENSHOTS = ("listing/window.jpg", "by_example.jpg", "setup_check.jpg")
FEATURED, *PREVIEWS = (*RENDERS, *SCREENSHOTS)
SIZE = (1920, 1080)
BACKGROUND = (38, 38, 38)
# Sections of the README: how to get the source, how to work on it, and links to its files.
FOR_CONTRIBUTORS = ("Install", "What to read", "Two commands", "Development")
MANUAL = (
    "The manual is part of the add-on: press the question mark in the header of a panel. "
    "It needs no network."
)
_PICTURE = re.compile(r"^!\[[^\]]*\]\([^)]*\)\n+", flags=re.MULTILINE)
# What means nothing on the platform: a link to a file of the project, a command of the source, a
# colon before a picture.
_OF_THE_SOURCE = re.compile(r"\[[^\]]+\]\((?!https?:)[^)]*\)|`make [^`]*`|[^\n]*:(?=\n\n(?!-))")


def missing_from_listing(project: Path) -> list[str]:
    """What a listing needs that a project does not have.

    Args:
        project: the folder with `README.md` and `docs`.
    """
    reasons = []
    for name in (*RENDERS, *SCREENSHOTS, ANIMATION):
        path = project / "docs" / name
        if not path.exists():
            reasons.append(f"The picture docs/{name} is missing.")
        elif name in RENDERS and Image.open(path).size != SIZE:
            reasons.append(f"The picture docs/{name} is not of {SIZE[0]} x {SIZE[1]} pixels.")
    readme = (project / "README.md").read_text(encoding="utf-8")
    reasons += [
        f'README.md has no section "{name}": scripts/listing.py leaves it out of the listing.'
        for name in FOR_CONTRIBUTORS
        if f"\n## {name}\n" not in readme
    ]
    reasons += [
        f'The listing\'s part of README.md says "{found}", which only the source has.'
        for found in _OF_THE_SOURCE.findall(_parts_for_users(readme))
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
    shutil.copyfile(project / "docs" / ANIMATION, folder / ANIMATION)
    names.append(ANIMATION)
    for number, name in enumerate((FEATURED, *PREVIEWS)):
        target = "featured.jpg" if number == 0 else f"preview_{number}_{Path(name).stem}.jpg"
        fitted(Image.open(project / "docs" / name)).save(folder / target, quality=92)
        names.append(target)
    return [folder / name for name in names]


def listing_text(readme: str, facts: dict[str, Any]) -> str:
    """The description of the listing, in Markdown.

    The platform shows name, tagline and licence beside it, and pictures above it.

    Args:
        readme: the README.
        facts: of the manifest.
    """
    used = "\n".join(f"- {name}: {reason}." for name, reason in facts["permissions"].items())
    return f"{_parts_for_users(readme)}\n\n{MANUAL}\n\n## Permissions\n{used}\n"


def _parts_for_users(readme: str) -> str:
    """What the README says to users, without pictures."""
    _title, introduction, *rest = re.split(r"^# .*\n|^(?=## )", readme, flags=re.MULTILINE)
    sections = [introduction, *(s for s in rest if _heading(s) not in FOR_CONTRIBUTORS)]
    return _PICTURE.sub("", "".join(sections)).strip()


def _heading(section: str) -> str:
    return section.partition("\n")[0].removeprefix("## ")


def fitted(picture: Image.Image) -> Image.Image:
    """A picture of 1920 x 1080: a larger one made smaller, a smaller one with a border.

    Nothing is enlarged.
    """
    shown = picture.convert("RGB")
    shown.thumbnail(SIZE, Image.Resampling.LANCZOS)
    page = Image.new("RGB", SIZE, BACKGROUND)
    page.paste(shown, ((SIZE[0] - shown.width) // 2, (SIZE[1] - shown.height) // 2))
    return page
