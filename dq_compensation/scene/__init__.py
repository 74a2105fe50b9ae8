"""Reads Blender as arrays and writes arrays back: meshes, weights, shape keys, armatures."""
