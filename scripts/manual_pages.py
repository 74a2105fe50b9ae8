"""Make the pages of the manual that ship in the zip, from the user's pages in `docs/`."""

from __future__ import annotations

import re
import shutil
from html import escape
from pathlib import Path

import markdown

from environments import PROJECT

DOCS = PROJECT / "docs"
# For people who change the code.
NOT_FOR_USERS = {"architecture", "measurements"}
# In this order; the others follow by their names.
FIRST_PAGES = ("guide", "troubleshooting")
_LINK = re.compile(r"\]\(([\w-]+)\.md(#[\w-]+)?\)")
_PICTURE = re.compile(r'src="([^"]+)"')
_TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} - DQ Compensation</title>
<style>
body {{ max-width: 50em; margin: 0 auto; padding: 1em; font: 16px/1.5 sans-serif; color: #222; }}
img {{ max-width: 100%; }}
table {{ border-collapse: collapse; }}
th, td {{ border: 1px solid #ccc; padding: .3em .6em; text-align: left; vertical-align: top; }}
code, pre {{ background: #f3f3f3; padding: .1em .2em; }}
pre {{ padding: .6em; overflow-x: auto; }}
nav a {{ margin-right: 1em; }}
</style>
</head>
<body>
<nav>{links}</nav>
{body}
</body>
</html>
"""


class ManualError(RuntimeError):
    """A page that cannot be made, and why."""


def user_pages() -> list[Path]:
    """The pages for users, `FIRST_PAGES` first."""
    pages = (path for path in DOCS.glob("*.md") if path.stem not in NOT_FOR_USERS)
    return sorted(pages, key=_place)


def _place(path: Path) -> tuple[int, str]:
    first = path.stem in FIRST_PAGES
    return (FIRST_PAGES.index(path.stem) if first else len(FIRST_PAGES), path.stem)


def write_manual(folder: Path) -> list[Path]:
    """Write a page of HTML for each page for users, and the pictures that they show.

    Returns:
        the files.

    Raises:
        ManualError: a page links to another one that does not ship, or shows no picture.
    """
    folder.mkdir(parents=True)
    pages = {path.stem: path.read_text(encoding="utf-8") for path in user_pages()}
    titles = {stem: _title(text) for stem, text in pages.items()}
    links = "".join(f'<a href="{stem}.html">{escape(title)}</a>' for stem, title in titles.items())
    written = []
    for stem, text in pages.items():
        body = _html(stem, text, set(pages))
        for picture in _PICTURE.findall(body):
            if not (DOCS / picture).exists():
                raise ManualError(f"docs/{stem}.md shows {picture}, which is not in docs/")
            shutil.copyfile(DOCS / picture, folder / picture)
            written.append(folder / picture)
        page = folder / f"{stem}.html"
        page.write_text(
            _TEMPLATE.format(title=escape(titles[stem]), links=links, body=body), encoding="utf-8"
        )
        written.append(page)
    return written


def _html(stem: str, text: str, known: set[str]) -> str:
    def linked(found: re.Match[str]) -> str:
        if found[1] not in known:
            raise ManualError(f"docs/{stem}.md links to {found[1]}.md, which does not ship")
        return f"]({found[1]}.html{found[2] or ''})"

    return markdown.markdown(
        _LINK.sub(linked, text), extensions=["tables", "fenced_code", "toc", "sane_lists"]
    )


def _title(text: str) -> str:
    return text.splitlines()[0].lstrip("# ")
