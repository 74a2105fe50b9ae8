"""Check the types with pyrefly, in a sixth of the time of basedpyright: for `make test`.

Outside `core`, what the stubs cannot know is left out: that a context has a scene and a view layer,
and the properties of an operator that a panel shows. Exit code 1 when anything is left. Standard
library only; the settings are in `pyproject.toml`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

from environments import ENVIRONMENTS, PROJECT

UNKNOWN_TO_STUBS = re.compile(r"`NoneType`|\| None`|`OperatorProperties`")


def main() -> int:
    pyrefly = str(ENVIRONMENTS["tools"].folder / "bin" / "pyrefly")
    command = (pyrefly, "check", "--output-format", "json", "--summary=none")
    run = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    if not run.stdout:
        print(run.stderr)
        return 1
    errors = json.loads(run.stdout)["errors"]
    found = [
        error
        for error in errors
        if error["path"].startswith("dq_compensation/core/")
        or not UNKNOWN_TO_STUBS.search(error["description"])
    ]
    for error in found:
        print("{path}:{line}:{column}: {description} [{name}]".format(**error))
    print(f"{len(found)} errors")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
