"""Bakes the deformation for what does not know it: shape keys and point caches."""
