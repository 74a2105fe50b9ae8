"""The feature's rows in the main panel."""

from __future__ import annotations

from collections.abc import Iterable

from bpy.types import Object, UILayout

from ..scene.binding.facts import of_whom
from ..scene.settings.object_settings import settings_of
from ..session.status import status_of
from ..wording import listed


def draw_softness(layout: UILayout, owner: Object) -> None:
    """Draw the slider of a character or a mesh, and the switch that shows the painted weights."""
    row = layout.row(align=True)
    row.prop(settings_of(owner), "softness", slider=True)
    row.prop(settings_of(owner), "as_painted", text="", icon="WPAINT_HLT")


NOT_TESTED = "Soft weights are not tested: they may stretch the skin at some joints."


def softness_messages(meshes: Iterable[Object]) -> list[tuple[str, bool]]:
    """What is wrong with the soft weights of enabled meshes.

    True with it: *Update Softness* mends it.
    """
    soft = {mesh.name: status_of(mesh).softness for mesh in meshes if settings_of(mesh).softness}
    known = soft.values()
    found = [(text, False) for text in dict.fromkeys(each.problem for each in known) if text]
    if older_than := of_whom({name: each.older_than for name, each in soft.items()}):
        found.append((f"Soft weights are older than {listed(older_than)}.", True))
    elif any(each.proof_stopped for each in known):
        found.append((NOT_TESTED, True))
    return found
