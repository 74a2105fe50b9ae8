"""Soft weights: the weights of a mesh, diffused over its surface by a part of each limb's radius."""
