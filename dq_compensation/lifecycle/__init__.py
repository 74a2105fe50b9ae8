"""The life of an enabled object: enabling, following what happens to it, disabling."""
