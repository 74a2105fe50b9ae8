"""The add-on's id, which Blender keys preferences and the extension's own folder by."""


def _parent_of(package: str) -> str:
    """Return the package above, or the package itself where there is none (a source checkout)."""
    return package.rpartition(".")[0] or package


# Installed, this package is one level below the one that Blender knows as the add-on.
ADDON_ID: str = _parent_of(__package__ or __name__)
