"""Weights that say where the deformation acts: painted, filled, smoothed, mirrored, shown."""
