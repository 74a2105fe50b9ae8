"""Bakes the deformation for programs without this add-on: shape keys and point caches."""
