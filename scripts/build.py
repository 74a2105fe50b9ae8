"""Build `dist/dq_compensation-<version>.zip` and validate it, with Blender's own command.

The manifest says which files of the project the zip holds. Beside them it has, in `manual/`, the
user's pages of `docs/` as HTML, which Help opens without a network. Blender's command is
`blender_ext.py`, which the bpy wheel brings: no Blender program is needed. Run it with the
environment of the newest Blender:

    .venv-5.2/bin/python scripts/build.py
"""

import argparse
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from environments import ENVIRONMENTS, PROJECT
from manual_pages import ManualError, write_manual

NEWEST = "5.2"


class BuildError(RuntimeError):
    """Blender's build or validate command refused; the message is its output."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=PROJECT / "dist", metavar="FOLDER")
    try:
        archive = build(parser.parse_args().output)
    except (BuildError, ManualError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{archive} ({archive.stat().st_size / 1024:.0f} KB) is valid")
    return 0


def build(output: Path) -> Path:
    """Build the extension's zip into the folder `output` and return its path.

    Raises BuildError when Blender's command finds fault with the manifest or the archive, and
    ManualError when a page of the manual cannot be made.
    """
    facts = manifest()
    archive = output / f"{facts['id']}-{facts['version']}.zip"
    output.mkdir(parents=True, exist_ok=True)
    source = ("--source-dir", str(PROJECT), "--output-filepath", str(archive))
    _extension_command(NEWEST, "build", *source)
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(archive, "a") as opened:
        for page in sorted(set(write_manual(Path(folder) / "manual"))):
            opened.write(page, f"manual/{page.name}", zipfile.ZIP_DEFLATED)
    validate(archive, NEWEST)
    return archive


def manifest() -> dict[str, Any]:
    """What `blender_manifest.toml` says."""
    return tomllib.loads((PROJECT / "blender_manifest.toml").read_text(encoding="utf-8"))


def validate(archive: Path, version: str) -> None:
    """Let a Blender look at a zip.

    Args:
        archive: the zip.
        version: of the Blender, as `4.2`; its environment must be there.

    Raises:
        BuildError: it finds fault with the zip.
    """
    _extension_command(version, "validate", str(archive))


def _extension_command(version: str, *arguments: str) -> None:
    environment = ENVIRONMENTS[version]
    program = f"bpy/{version}/scripts/addons_core/bl_pkg/cli/blender_ext.py"
    found = next(environment.folder.glob(f"[Ll]ib/**/site-packages/{program}"), None)
    if found is None:
        raise BuildError(f"{environment.folder} has no bpy: run `make setup`")
    run = subprocess.run(
        [environment.interpreter, found, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    # It says "FATAL_ERROR" on its standard output in places.
    if run.returncode or "FATAL_ERROR" in run.stdout:
        command = f"Blender {version}: extension {' '.join(arguments)}"
        raise BuildError(f"{command}\n{run.stdout}{run.stderr}".rstrip())


if __name__ == "__main__":
    sys.exit(main())
