"""What a step knows, and how it judges what it sees."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from blender_window import BlenderWindow, StepError, Wait
from numpy.typing import NDArray
from pictures import Picture, screen_picture

# Parts of the viewport's pixels. Pictures of one mesh in one Blender repeat themselves but for a
# few pixels of edges, which are smoothed by chance: 0.012 % was the most in software rendering.
# Between methods 0.4 % to 0.8 % differ.
SAME = 0.0005
CHANGED = 0.003
# The GPU display has no anti-aliasing: pixels of the outline, one wide and 3,000 long of 700,000,
# may belong to the character in one of two pictures only.
OUTLINE = 0.004

CATEGORY = "DQ Compensation"
# Where the buttons of a character are, as parts of the sidebar's width.
ENABLE, DISABLE, COMPARE = 0.2, 0.44, 0.68


class Step:
    """One step as it runs: the window, and what has been found.

    Attributes:
        findings: for the gallery: a caption and the name of a picture, or what was judged.
    """

    def __init__(self, window: BlenderWindow, folder: Path, name: str, archive: Path) -> None:
        self.window = window
        self.archive = archive
        self.folder = folder
        self.findings: list[dict[str, str]] = []
        self._name = name

    @property
    def human(self) -> Any:
        """The character's mesh object."""
        return bpy.data.objects["Human"]

    @property
    def rig(self) -> Any:
        """Its armature object."""
        return bpy.data.objects["Human Rig"]

    @property
    def settings(self) -> Any:
        """The add-on's settings of the character."""
        return self.human.dq_compensation

    @property
    def preferences(self) -> Any:
        """The add-on's preferences."""
        addons = bpy.context.preferences.addons.values()
        return next(each.preferences for each in addons if "dq_compensation" in each.module)

    @property
    def is_softening(self) -> bool:
        """Whether soft weights that the settings ask for are not there yet."""
        return self.settings.softness > 0.0 and self.settings.native.soft_copy is None

    def preset(self, name: str) -> str:
        """The file of a preset."""
        return bpy.utils.preset_find(name, "dq_compensation")

    def enable(self) -> Wait:
        """Open the panel and click *Enable*."""
        yield from self.window.open_sidebar(CATEGORY)
        yield from self.window.press("dqc.enable", ENABLE)
        self.expect(self.settings.enabled, "Human is enabled")

    def open_advanced(self) -> Wait:
        """Open the sub-panel with method and display."""
        yield from self.window.open_panel("Advanced")

    def to_frame(self, frame: int) -> Wait:
        """Go to a frame with the arrow keys."""
        yield from self.window.over_view()
        scene = bpy.context.scene
        for _ in range(abs(frame - scene.frame_current)):
            key = "RIGHT_ARROW" if frame > scene.frame_current else "LEFT_ARROW"
            yield from self.window.key(key)
        self.expect(scene.frame_current == frame, f"the arrow keys go to frame {frame}")

    def undo(self, is_undone: Callable[[], bool], what: str) -> Wait:
        """Press Ctrl Z over the viewport until something is as before, up to six times."""
        yield from self.window.over_view()
        for _ in range(6):
            yield from self.window.key("Z", ctrl=True)
            yield from self.window.wait(10)
            if is_undone():
                break
        self.expect(is_undone(), what)

    def show(self, caption: str) -> None:
        """Put the whole window into the gallery."""
        count = sum("picture" in finding for finding in self.findings)
        file = f"{self._name}-{count + 1}.png"
        screen_picture(self.window.window).save(self.folder / file)
        self.findings.append({"picture": file, "caption": caption})

    def look(self, caption: str) -> Generator[None, None, Picture]:
        """The picture of the viewport; the whole window goes into the gallery."""
        picture = yield from self.window.look()
        self.show(caption)
        return picture

    def expect(self, holds: bool, what: str) -> None:
        """Judge what is known of Blender's data."""
        self.findings.append({"judged": what, "verdict": "yes" if holds else "no"})
        if not holds:
            message = f"Not so: {what}."
            raise StepError(message)

    def expect_same(self, now: Picture, before: Picture, what: str, at_most: float = SAME) -> None:
        """Judge that two pictures of the viewport show the same."""
        part = now.changed_from(before)
        self.expect(part <= at_most, f"{what}: {part:.3%} of the view differs, limit {at_most:.3%}")

    def expect_changed(
        self, now: Picture, before: Picture, what: str, at_least: float = CHANGED
    ) -> None:
        """Judge that two pictures of the viewport show something else."""
        part = now.changed_from(before)
        text = f"{what}: {part:.3%} of the view differs, at least {at_least:.3%}"
        self.expect(part >= at_least, text)

    def expect_outline(self, now: Picture, before: Picture, empty: Picture, what: str) -> None:
        """Judge that two displays show the character in the same place.

        Args:
            empty: the view without it.
        """
        part = now.silhouette_changed_from(before, empty)
        self.expect(
            part <= OUTLINE,
            f"{what}: {part:.3%} of the view is in one outline only, limit {OUTLINE:.1%}",
        )

    def positions(self) -> NDArray[np.float32]:
        """Where Blender shows the character's vertices: shape (n, 3), object space, metres."""
        evaluated = self.human.evaluated_get(bpy.context.evaluated_depsgraph_get())
        found = np.empty(3 * len(evaluated.data.vertices), np.float32)
        evaluated.data.vertices.foreach_get("co", found)
        return found.reshape(-1, 3)
