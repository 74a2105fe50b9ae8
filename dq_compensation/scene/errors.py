"""The error that says why an object cannot be bound."""


class BindingError(ValueError):
    """Why an object cannot be deformed: one plain sentence for the panel, and what to do."""
