"""Make a release: refuse what is not ready, build the zip, test it, write its listing.

    make release

    dist/dq_compensation-<version>.zip   what is uploaded: all tests have passed on it
    build/release/                       what the page on extensions.blender.org shows

It refuses before anything runs, and names everything that is missing at once.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from build import BuildError, build, manifest, validate
from environments import BLENDER_VERSIONS, PROJECT
from listing import missing_from_listing, write_listing
from manual_pages import ManualError

LISTING = PROJECT / "build" / "release"
# Of the release notes.
MOST_LINES = 10


def main() -> int:
    facts = manifest()
    version = str(facts["version"])
    changelog = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
    reasons = [
        *changelog_refusals(version, changelog),
        *checkout_refusals(version, PROJECT),
        *missing_from_listing(PROJECT),
    ]
    if reasons:
        print("Not ready for a release:", *reasons, sep="\n- ", file=sys.stderr)
        return 1
    try:
        archive = build(PROJECT / "dist")
        for each in BLENDER_VERSIONS:
            validate(archive, each)
    except (BuildError, ManualError) as error:
        print(error, file=sys.stderr)
        return 1
    tests = (sys.executable, str(PROJECT / "scripts" / "run_tests.py"), "--all")
    # The tests of the package install this zip.
    environment = {**os.environ, "DQC_ARCHIVE": str(archive)}
    if subprocess.run(tests, env=environment, check=False).returncode:
        return 1
    files = write_listing(PROJECT, LISTING, facts, release_notes(version, changelog))
    print("\n== Release", archive, *files, sep="\n   ")
    return 0


def changelog_refusals(version: str, changelog: str) -> list[str]:
    """What the changelog lacks for a version."""
    heading = re.search(rf"^## \[{re.escape(version)}\](.*)$", changelog, flags=re.MULTILINE)
    if heading is None:
        return [f"CHANGELOG.md has no section [{version}], the version of the manifest."]
    reasons = []
    if not re.fullmatch(r" - \d{4}-\d{2}-\d{2}", heading[1]):
        reasons.append(f"The section [{version}] of CHANGELOG.md has no date.")
    notes = release_notes(version, changelog)
    if not notes:
        reasons.append(f"The section [{version}] of CHANGELOG.md does not begin with a summary.")
    if len(notes.splitlines()) > MOST_LINES:
        reasons.append(
            f"The summary of [{version}] in CHANGELOG.md has more than {MOST_LINES} lines."
        )
    return reasons


def release_notes(version: str, changelog: str) -> str:
    """The summary with which a version's section begins."""
    section = re.search(
        rf"^## \[{re.escape(version)}\].*?\n(.*?)(?=^##|\Z)",
        changelog,
        flags=re.MULTILINE | re.DOTALL,
    )
    return section[1].strip() if section else ""


def checkout_refusals(version: str, checkout: Path) -> list[str]:
    """Why a checkout is not what the version's tag stands for, or will stand for.

    Args:
        version: of the manifest; its tag is `v<version>`.
        checkout: the folder of a git checkout.
    """
    reasons = []
    if changed := _git(checkout, "status", "--porcelain"):
        names = ", ".join(line.strip().split(maxsplit=1)[1] for line in changed.splitlines()[:5])
        reasons.append(f"Files are not committed: {names}.")
    tag, here = f"v{version}", _git(checkout, "rev-parse", "HEAD")
    tagged = _git(checkout, "tag", "--list", tag) and _git(checkout, "rev-list", "-n1", tag)
    if tagged and tagged != here:
        reasons.append(f"The tag {tag} is on another commit: raise the version in the manifest.")
    others = set(_git(checkout, "tag", "--points-at", "HEAD", "v*").split()) - {tag}
    if others:
        reasons.append(f"This commit has the tag {', '.join(sorted(others))}, not {tag}.")
    return reasons


def _git(checkout: Path, *arguments: str) -> str:
    command = ("git", "-C", str(checkout), *arguments)
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
