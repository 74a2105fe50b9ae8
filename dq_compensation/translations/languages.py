"""Gives Blender the translations of what the interface says.

They are for names, tooltips, titles and buttons. Sentences with values stay English.
"""

from __future__ import annotations

import bpy

from . import japanese, simplified_chinese

# Blender looks for `ja_JP`, as 4.2 calls Japanese, and then for `ja`.
LANGUAGES = {"ja": japanese.TEXTS, "zh_HANS": simplified_chinese.TEXTS}
"""The translations of the English texts, by Blender's names of the languages."""

# Blender asks for the text of a button in the second one, for all others in the first.
_CONTEXTS = (
    bpy.app.translations.contexts.default,
    bpy.app.translations.contexts.operator_default,
)


def register() -> None:
    """Give Blender the translations."""
    messages = {
        language: {(context, text): said for text, said in texts.items() for context in _CONTEXTS}
        for language, texts in LANGUAGES.items()
    }
    bpy.app.translations.register(__name__, messages)


def unregister() -> None:
    """Take the translations away."""
    bpy.app.translations.unregister(__name__)
