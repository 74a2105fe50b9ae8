"""The page with the pictures and verdicts of a run."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TypedDict

_STYLE = """
body { font: 15px/1.5 sans-serif; max-width: 1640px; margin: 2em auto; padding: 0 1em;
       background: #fff; color: #222; }
h2 { margin: 2em 0 0; } h2.failed { color: #b00; } p { margin: .3em 0; }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(480px, 1fr)); gap: 1em; }
figure { margin: 0; } img { width: 100%; } .no, pre { color: #b00; white-space: pre-wrap; }
"""


class Result(TypedDict):
    """What has come out of a step; each finding is a picture with a caption, or a verdict."""

    name: str
    about: str
    seconds: float
    failure: str
    findings: list[dict[str, str]]


def write_gallery(folder: Path, title: str, results: list[Result]) -> None:
    """Write `index.html` beside the pictures."""
    failed = sum(bool(result["failure"]) for result in results)
    parts = [
        f"<!doctype html><meta charset='utf-8'><title>{escape(title)}</title>",
        f"<style>{_STYLE}</style><h1>Blender {escape(title)}</h1>",
        f"<p>{len(results) - failed} of {len(results)} steps passed.</p>",
        *(_step(result) for result in results),
    ]
    (folder / "index.html").write_text("\n".join(parts), encoding="utf-8")


def _step(result: Result) -> str:
    kind = "failed" if result["failure"] else "passed"
    verdicts, pictures = [], []
    for finding in result["findings"]:
        if "picture" in finding:
            name, caption = escape(finding["picture"]), escape(finding["caption"])
            image = f"<a href='{name}'><img src='{name}' alt='{caption}' loading='lazy'></a>"
            pictures.append(f"<figure>{image}<figcaption>{caption}</figcaption></figure>")
        else:
            judged, verdict = escape(finding["judged"]), finding["verdict"]
            verdicts.append(f"<li class='{verdict}'>{judged}: {verdict}</li>")
    return "\n".join(
        (
            f"<h2 class='{kind}'>{escape(result['name'])}: {kind}, {result['seconds']:.0f} s</h2>",
            f"<p>{escape(result['about'])}</p>",
            f"<pre>{escape(result['failure'])}</pre>" if result["failure"] else "",
            f"<ul>{''.join(verdicts)}</ul><div class='pictures'>{''.join(pictures)}</div>",
        )
    )
