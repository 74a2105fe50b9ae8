"""How the scripts that run inside Blender end."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def leave(exit_code: int) -> NoReturn:
    """End the process at once: Blender's own clean-up can hang without a window."""
    sys.stdout.flush()
    os._exit(exit_code)
