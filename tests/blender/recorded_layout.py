"""A layout that records what a panel draws in it, and how many rows that takes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from types import SimpleNamespace
from typing import Any


class RecordedLayout:
    """Stands in for `bpy.types.UILayout`: Blender makes layouts only while it draws a window.

    Attributes:
        active: whether it is drawn as usual; grey where it, or a layout around it, is not.

    Args:
        open_panels: the names of the panels in it that are open, besides those open at first.
    """

    def __init__(self, open_panels: Collection[str] = (), *, beside: bool = False) -> None:
        self._open_panels = open_panels
        self._beside = beside
        self._parts: list[RecordedLayout | SimpleNamespace] = []
        self.active = self.enabled = True

    def _part(self, *, beside: bool) -> RecordedLayout:
        part = RecordedLayout(self._open_panels, beside=beside)
        self._parts.append(part)
        return part

    def row(self, **_: Any) -> RecordedLayout:
        return self._part(beside=True)

    def column(self, **_: Any) -> RecordedLayout:
        return self._part(beside=False)

    box = column
    split = row

    def panel(self, name: str, *, default_closed: bool = False) -> tuple[Any, Any]:
        header = self._part(beside=True)
        header._parts.append(SimpleNamespace(kind="panel", name=name, text="", rows=1))
        is_open = name in self._open_panels or not default_closed
        return header, self._part(beside=False) if is_open else None

    def _leaf(self, kind: str, name: str, text: str = "", rows: int = 1, **more: Any) -> None:
        self._parts.append(SimpleNamespace(kind=kind, name=name, text=text, rows=rows, **more))

    def prop(self, owner: Any, name: str, text: str = "", placeholder: str = "", **_: Any) -> None:
        assert name in owner.bl_rna.properties
        self._leaf("prop", name, text or placeholder, owner=owner.id_data.name)

    def prop_search(
        self, owner: Any, name: str, _data: Any, _within: str, text: str = "", **_: Any
    ) -> None:
        self.prop(owner, name, text)

    def label(self, text: str = "", **_: Any) -> None:
        self._leaf("label", "", text)

    def operator(self, name: str, text: str = "", **_: Any) -> Any:
        properties = SimpleNamespace()
        self._leaf("operator", name, text, properties=properties)
        return properties

    def menu(self, name: str, text: str = "", **_: Any) -> None:
        self._leaf("menu", name, text)

    def progress(self, text: str = "", **_: Any) -> None:
        self._leaf("progress", "", text)

    def separator(self, **_: Any) -> None:
        self._leaf("separator", "")

    def template_list(self, *names: Any, rows: int = 5, **_: Any) -> None:
        self._leaf("list", names[0], rows=rows)

    def context_pointer_set(self, *_: Any) -> None:
        """Nothing is drawn."""

    @property
    def height(self) -> int:
        """The number of rows."""
        heights = [
            part.height if isinstance(part, RecordedLayout) else part.rows for part in self._parts
        ]
        return max(heights, default=0) if self._beside else sum(heights)

    def places(self, above: int = 0) -> list[tuple[str, str, int]]:
        """Kind, name and row of what can be pressed, in its order; the uppermost row is 0."""
        found: list[tuple[str, str, int]] = []
        for part in self._parts:
            if isinstance(part, RecordedLayout):
                found += part.places(above)
            elif part.kind not in {"label", "progress", "separator"}:
                found.append((part.kind, part.name, above))
            if not self._beside:
                above += part.height if isinstance(part, RecordedLayout) else part.rows
        return found

    def leaves(self, kind: str = "", *, active_only: bool = False) -> Iterator[Any]:
        """What is drawn, in its order: `kind`, `name`, `text`; of a property `owner`."""
        if active_only and not self.active:
            return
        for part in self._parts:
            if isinstance(part, RecordedLayout):
                yield from part.leaves(kind, active_only=active_only)
            elif kind in ("", part.kind):
                yield part

    def texts(self) -> list[str]:
        """All texts."""
        return [leaf.text for leaf in self.leaves() if leaf.text]

    def names(self, kind: str, *, active_only: bool = False) -> list[str]:
        """The names of all properties, operators, lists or panels."""
        return [leaf.name for leaf in self.leaves(kind, active_only=active_only)]
