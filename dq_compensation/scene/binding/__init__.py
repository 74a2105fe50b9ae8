"""Binds a mesh to its armature: all that its deformation needs, as arrays."""
