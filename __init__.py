"""Entry point that Blender imports; the add-on itself is in the package ``dq_compensation``.

The import waits until Blender enables the add-on: tools that merely touch this file, such as
pytest, must not load the package a second time under another name.
"""

from typing import Any


def register() -> None:
    """Register everything; called by Blender when the extension is enabled."""
    from .dq_compensation import register as register_package

    register_package()


def unregister() -> None:
    """Undo `register`; called by Blender when the extension is disabled."""
    from .dq_compensation import unregister as unregister_package

    unregister_package()


class glTF2ExportUserExtension:  # noqa: N801 - Blender's exporter looks for this name here
    """Leaves what is ours out of the *Custom Properties* of glTF files."""

    def gather_node_hook(self, node: Any, _owner: object, _options: object) -> None:
        """Called for the node of each object, before it is written."""
        extras = {
            name: value
            for name, value in (node.extras or {}).items()
            if not name.startswith("dq_compensation")
        }
        node.extras = extras or None

    gather_joint_hook = gather_node_hook
