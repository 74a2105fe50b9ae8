"""Entry point that Blender imports; the add-on itself is in the package ``dq_compensation``.

The import waits until Blender enables the add-on: tools that merely touch this file, such as
pytest, must not load the package a second time under another name.
"""


def register() -> None:
    """Register everything; called by Blender when the extension is enabled."""
    from .dq_compensation import register as register_package

    register_package()


def unregister() -> None:
    """Undo `register`; called by Blender when the extension is disabled."""
    from .dq_compensation import unregister as unregister_package

    unregister_package()
