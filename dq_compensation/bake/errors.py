"""Why something cannot be baked."""


class BakeError(ValueError):
    """Why nothing was baked and what to do instead; nothing has changed when it is raised."""
