"""Soft weights: diffused over the surface of a mesh, by a part of each limb's radius."""
