"""What users do to a file, at random: the add-on's operators, and everything else around them."""

from __future__ import annotations

from tests.soak.addon_actions import OPERATORS, SETTINGS
from tests.soak.bone_actions import BONE_ACTIONS
from tests.soak.choosing import Action
from tests.soak.deforming_actions import DEFORMING_ACTIONS
from tests.soak.file_actions import FILE_ACTIONS
from tests.soak.mesh_actions import MESH_ACTIONS
from tests.soak.object_actions import OBJECT_ACTIONS

ACTIONS: tuple[tuple[int, Action], ...] = (
    *OPERATORS.values(),
    *SETTINGS,
    *BONE_ACTIONS,
    *MESH_ACTIONS,
    *DEFORMING_ACTIONS,
    *OBJECT_ACTIONS,
    *FILE_ACTIONS,
)
"""How often users do it, and the action."""
