"""A window of Blender, driven by events as a user's hand makes them.

Every method that waits is a generator: each `yield` gives control back to Blender, which then
handles the events and draws. Positions are pixels from the window's lower left corner.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import bpy
from pictures import Picture, screen_picture

Wait = Generator[None, None, None]
Position = tuple[int, int]

# Buttons are 20 pixels high at interface scale 1.
_SCAN_STEP = 11
# So are the headers of the panels, with the gaps between them. They lie below each other while all
# of them are closed, and Setup Check, whose magnifier is at this part of the sidebar's width, too.
_HEADER = 21
CHECK = 0.75
_PANELS = ("Joints", "Paint", "By Example", "Export and Bake", "Playback", "Advanced")
_NEED_ENABLED = ("Joints", "By Example")
# Between what is done and the first drawing that shows it.
_TICKS = 4


class StepError(Exception):
    """What a step wanted to find or see is not there; the message is the verdict."""


class BlenderWindow:
    """The main window, its 3D viewport and the sidebar in it.

    References to Blender's data do not outlive a file, so everything is looked up when it is used.
    """

    def __init__(self) -> None:
        self.at: Position = (0, 0)
        self._known: dict[tuple[str, float], Position] = {}

    @property
    def window(self) -> Any:
        """The newest window: a file browser lies on top of the main one."""
        return bpy.context.window_manager.windows[-1]

    @property
    def area(self) -> Any:
        """The 3D viewport."""
        return next(area for area in self.window.screen.areas if area.type == "VIEW_3D")

    def region(self, kind: str = "WINDOW") -> Any:
        """A region of the viewport: WINDOW is the view, UI the sidebar."""
        return next(region for region in self.area.regions if region.type == kind)

    # Events

    def event(self, key: str, value: str, **modifiers: Any) -> Wait:
        """Send one event at the mouse's position, and let Blender handle it."""
        x, y = self.at
        self.window.event_simulate(type=key, value=value, x=x, y=y, **modifiers)
        yield

    def move(self, position: Position, **modifiers: bool) -> Wait:
        """Move the mouse."""
        self.at = position
        yield from self.event("MOUSEMOVE", "NOTHING", **modifiers)

    def key(self, key: str, **modifiers: bool) -> Wait:
        """Press a key and release it: `key("Z", ctrl=True)`."""
        yield from self.event(key, "PRESS", **modifiers)
        yield from self.event(key, "RELEASE", **modifiers)
        yield from self.wait(_TICKS)

    def type_text(self, text: str) -> Wait:
        """Type digits, letters, points and minus signs."""
        names = {".": "PERIOD", "-": "MINUS", " ": "SPACE", "_": "MINUS"}
        digits = ("ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE")
        for letter in text:
            key = digits[int(letter)] if letter.isdigit() else names.get(letter, letter.upper())
            yield from self.event(key, "PRESS", unicode=letter)
            yield from self.event(key, "RELEASE")

    def click(self, position: Position, **modifiers: bool) -> Wait:
        """Click with the left button, and let Blender do what the click asks for."""
        yield from self.drag([position], **modifiers)
        yield from self.wait(10)

    def drag(self, way: Sequence[Position], **modifiers: bool) -> Wait:
        """Press the left button at the first position, release it at the last."""
        yield from self.move(way[0])
        yield
        # For several objects at once Blender asks which keys are down.
        if modifiers.get("alt"):
            yield from self.event("LEFT_ALT", "PRESS", alt=True)
        yield from self.event("LEFTMOUSE", "PRESS", **modifiers)
        for position in way[1:]:
            yield from self.move(position, **modifiers)
        yield from self.event("LEFTMOUSE", "RELEASE", **modifiers)
        if modifiers.get("alt"):
            yield from self.event("LEFT_ALT", "RELEASE")
        yield from self.wait(_TICKS)

    def wait(self, ticks: int) -> Wait:
        """Let Blender's main loop run."""
        for _ in range(ticks):
            yield

    def wait_until(self, is_so: Callable[[], object], message: str) -> Wait:
        """Let Blender's main loop run until something is so; the message says that it never was."""
        for _ in range(1000):
            if is_so():
                return
            yield
        raise StepError(message)

    # The view

    def in_view(self, across: float = 0.5, up: float = 0.5) -> Position:
        """A position in the viewport, as fractions of its width and height."""
        view = self.region()
        return view.x + round(view.width * across), view.y + round(view.height * up)

    def over_view(self) -> Wait:
        """Move the mouse into the viewport, where shortcuts act on it."""
        yield from self.move(self.in_view(0.1, 0.1))

    def look(self) -> Generator[None, None, Picture]:
        """The picture of the viewport, when it has stopped to change.

        Blender draws a view several times, each smoother than the one before.
        """
        # An empty place of the top bar, where no button lights up and no brush is shown.
        yield from self.move((round(self.window.width * 0.72), self.window.height - 12))
        before = None
        for _ in range(30):
            yield from self.wait(8)
            now = screen_picture(self.window).cropped(self.region())
            if before is not None and now.changed_from(before) == 0.0:
                return now
            before = now
        message = "The viewport does not stop to change."
        raise StepError(message)

    # Buttons

    def open_sidebar(self, category: str) -> Wait:
        """Open the sidebar with N, and turn to a tab with Ctrl and the mouse wheel."""
        yield from self.over_view()
        if not self.area.spaces.active.show_region_ui:
            yield from self.key("N")
            yield from self.wait(20)
        sidebar = self.region("UI")
        tabs = (sidebar.x + sidebar.width - 8, sidebar.y + sidebar.height // 2)
        for wheel in ("WHEELUPMOUSE",) * 12 + ("WHEELDOWNMOUSE",) * 12:
            if self.region("UI").active_panel_category == category:
                return
            yield from self.move(tabs)
            yield from self.event(wheel, "PRESS", ctrl=True)
            yield from self.wait(_TICKS)
        message = f"The sidebar has no tab {category}."
        raise StepError(message)

    def under_mouse(self) -> str:
        """What the sidebar's button under the mouse does, in Python; empty beside buttons.

        Blender's own *Copy Python Command* and *Copy Full Data Path* say it.
        """
        manager, copies = bpy.context.window_manager, bpy.ops.ui
        region = self.region("UI")
        with bpy.context.temp_override(window=self.window, area=self.area, region=region):
            for copy, options in (
                (copies.copy_python_command_button, {}),
                (copies.copy_data_path_button, {"full_path": True}),
            ):
                if copy.poll():
                    manager.clipboard = ""
                    copy(**options)
                    if manager.clipboard:
                        return manager.clipboard
        return ""

    def find(self, wanted: str, across: float = 0.5) -> Generator[None, None, Position]:
        """A place on the sidebar's button whose Python has `wanted` in it, scrolled to.

        Args:
            across: where in the sidebar's width the buttons are looked for.
        """
        if (wanted, across) in self._known:
            yield from self.move(self._known[wanted, across])
            if wanted in self.under_mouse():
                return self.at
        seen: dict[str, None] = {}
        for page in range(6):
            if page == 1:
                yield from self.scroll("WHEELUPMOUSE", 40)
            elif page:
                yield from self.scroll("WHEELDOWNMOUSE", 6)
            position = yield from self._find_shown(wanted, across, seen)
            if position is not None:
                self._known[wanted, across] = position
                return position
        message = f"There is no button {wanted}, only {', '.join(seen)}."
        raise StepError(message)

    def _find_shown(
        self, wanted: str, across: float, seen: dict[str, None]
    ) -> Generator[None, None, Position | None]:
        """`find` in what the sidebar shows now; all other buttons go to `seen`."""
        sidebar = self.region("UI")
        x = sidebar.x + round(sidebar.width * across)
        found: list[int] = []
        for y in range(sidebar.y + sidebar.height - 6, sidebar.y, -_SCAN_STEP):
            yield from self.move((x, y))
            under = self.under_mouse()
            if wanted in under:
                found.append(y)
            elif found:
                # What is under the mouse may be told one step late: look again, slowly.
                found = yield from self._still_there(wanted, x, found)
                # The rest of one that is cut off by the lower edge may be too thin to click.
                if found:
                    return x, sum(found) // len(found)
            elif under:
                seen[under] = None
        return None

    def _still_there(
        self, wanted: str, x: int, near: list[int]
    ) -> Generator[None, None, list[int]]:
        """The heights, from one step above some to one below them, at which a button is."""
        found: list[int] = []
        for y in range(near[0] + _SCAN_STEP, near[-1] - _SCAN_STEP - 1, -_SCAN_STEP // 2 + 1):
            yield from self.move((x, y))
            yield from self.wait(_TICKS)
            if wanted in self.under_mouse():
                found.append(y)
        return found

    def scroll(self, wheel: str, count: int) -> Wait:
        """Turn the mouse wheel over the sidebar."""
        sidebar = self.region("UI")
        yield from self.move((sidebar.x + sidebar.width // 2, sidebar.y + sidebar.height // 2))
        for event in [self.event(wheel, "PRESS") for _ in range(count)]:
            next(event)
        yield from self.wait(_TICKS)

    def press(self, wanted: str, across: float = 0.5) -> Wait:
        """Find a button of the sidebar and click it."""
        position = yield from self.find(wanted, across)
        yield from self.click(position)

    def open_panel(self, title: str, *, enabled: bool = True) -> Wait:
        """Click the header of a closed panel; those above it are closed, too.

        Args:
            enabled: whether the character is: the panels that need it are there.
        """
        sidebar = self.region("UI")
        _, y = yield from self.find("dqc.check", CHECK)
        shown = [each for each in _PANELS if enabled or each not in _NEED_ENABLED]
        below = _HEADER * (1 + shown.index(title))
        yield from self.click((sidebar.x + sidebar.width // 3, y - below))
        yield from self.wait(10)

    def slide(self, wanted: str, pixels: int, across: float = 0.7, **modifiers: bool) -> Wait:
        """Drag a slider of the sidebar to the right, or with a negative distance to the left."""
        x, y = yield from self.find(wanted, across)
        way = [(x + round(pixels * part / 10), y) for part in range(11)]
        yield from self.drag(way, **modifiers)

    def choose(self, wanted: str, text: str, is_reached: Callable[[], bool]) -> Wait:
        """Click a field of the sidebar that searches, and choose what the text finds."""
        # A sidebar that is not drawn anew yet does not open the list, and the text is then lost.
        yield from self.wait(40)
        yield from self.press(wanted, 0.7)
        yield from self.wait(40)
        yield from self.type_text(text)
        yield from self.wait(40)
        yield from self.key("RET")
        yield from self.wait_until(is_reached, f"{wanted} does not become {text}.")

    def turn(self, wanted: str, is_reached: Callable[[], bool]) -> Wait:
        """Turn the mouse wheel over a menu of the sidebar, with Ctrl, until it has a value."""
        position = yield from self.find(wanted, 0.7)
        for wheel in ("WHEELUPMOUSE",) * 10 + ("WHEELDOWNMOUSE",) * 10:
            if is_reached():
                return
            yield from self.move(position)
            yield from self.event(wheel, "PRESS", ctrl=True)
            yield from self.wait(_TICKS)
        message = f"The mouse wheel does not set {wanted}."
        raise StepError(message)
