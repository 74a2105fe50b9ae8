"""Build `dist/dq_compensation-<version>.zip` and validate it, with Blender's own command.

The zip holds files of the project and, in `manual/`, the user's pages of `docs/` as HTML, which
Help opens without a network. Blender's command is `blender_ext.py`, which the bpy wheel brings: no
Blender program is needed. Run it with an environment that has bpy:

    .venv-5.2/bin/python scripts/build.py
"""

import argparse
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from environments import PROJECT
from manual_pages import ManualError, write_manual

SHIPPED = ("blender_manifest.toml", "__init__.py", "LICENSE", "dq_compensation", "shaders")


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
    manifest = tomllib.loads((PROJECT / "blender_manifest.toml").read_text(encoding="utf-8"))
    archive = output / f"{manifest['id']}-{manifest['version']}.zip"
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        gather(source)
        _extension_command("validate", str(source))
        _extension_command("build", "--source-dir", str(source), "--output-filepath", str(archive))
    _extension_command("validate", str(archive))
    return archive


def gather(folder: Path) -> None:
    """Put what ships into a new folder: files of the project, and the manual."""
    folder.mkdir()
    for name in SHIPPED:
        if (PROJECT / name).is_dir():
            caches = shutil.ignore_patterns("__pycache__")
            shutil.copytree(PROJECT / name, folder / name, ignore=caches)
        else:
            shutil.copyfile(PROJECT / name, folder / name)
    write_manual(folder / "manual")


def extension_command_path() -> Path:
    """Return the path of `blender_ext.py` inside the installed bpy, without importing bpy."""
    spec = importlib.util.find_spec("bpy")
    if spec is None or not spec.submodule_search_locations:
        raise BuildError(f"{sys.executable} has no bpy; run `make setup`, then use .venv-5.2")
    package = Path(spec.submodule_search_locations[0])
    found = sorted(package.glob("*/scripts/addons_core/bl_pkg/cli/blender_ext.py"))
    if not found:
        raise BuildError(f"no blender_ext.py inside {package}")
    return found[-1]


def _extension_command(*arguments: str) -> None:
    run = subprocess.run(
        [sys.executable, str(extension_command_path()), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    # It says "FATAL_ERROR" on its standard output in places.
    if run.returncode or "FATAL_ERROR" in run.stdout:
        raise BuildError(f"blender_ext {' '.join(arguments)}\n{run.stdout}{run.stderr}".rstrip())


if __name__ == "__main__":
    sys.exit(main())
