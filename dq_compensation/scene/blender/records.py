"""Records that the add-on keeps in a file as JSON: what is missing or damaged counts as none."""

from __future__ import annotations

import json
from typing import Any

import bpy


def parsed_record(text: object) -> dict[str, Any]:
    """A record from its text; empty where that is none."""
    try:
        found = json.loads(str(text))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def record_in(owner: bpy.types.ID, name: str) -> dict[str, Any]:
    """The record in a custom property of a datablock."""
    return parsed_record(owner.get(name))
