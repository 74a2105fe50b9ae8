"""Operators and panels that bake."""
