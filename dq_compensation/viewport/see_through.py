"""X-ray of the surfaces that we draw, and the hints in the panel of a viewport."""

from __future__ import annotations

from typing import Any

from bpy.types import Context, Object

from ..scene.settings.object_settings import settings_of
from ..scene.stack import find_rig
from ..session.status import is_coloured, is_drawn


def surface_alpha(space: Any, mode: str) -> float:
    """The opacity of a surface in a 3D viewport; 1 without X-ray.

    Args:
        space: the viewport (SpaceView3D).
        mode: of the context. In Pose Mode, Bone X-Ray counts as well.
    """
    shading, overlay = space.shading, space.overlay
    xray = shading.type == "SOLID" and shading.show_xray
    bone_xray = mode == "POSE" and overlay.show_overlays and overlay.show_xray_bone
    # Bone X-Ray has an opacity of its own, but that is 0 in new files: Blender draws bones on top.
    return shading.xray_alpha if xray or bone_xray else 1.0


def display_hints(obj: Object, context: Context) -> list[str]:
    """Hints for the panel: what this viewport hides of an enabled object, and what to do."""
    space: Any = context.space_data
    if space is None or space.type != "VIEW_3D":
        return []
    hints = []
    rendered = space.shading.type in {"MATERIAL", "RENDERED"}
    drawn = settings_of(obj).native.hidden and is_drawn(obj)
    if drawn and rendered:
        hints.append(
            f"The GPU display shows {obj.name} without its materials here. Choose the display "
            "Modifier to see them."
        )
    rig = find_rig(obj)
    # In Pose Mode we draw the bones.
    if rig is None or not rig.show_in_front or not rig.visible_get() or context.mode == "POSE":
        return hints
    if space.shading.type != "SOLID" or not (drawn or is_coloured(obj)):
        return hints
    if surface_alpha(space, context.mode) == 1.0:
        picture = "GPU picture" if drawn else "overlay"
        hints.append(
            f"{rig.name} is set to In Front, but the {picture} covers its bones. Turn on X-ray "
            "(Alt Z) to see them through the surface."
        )
    return hints
