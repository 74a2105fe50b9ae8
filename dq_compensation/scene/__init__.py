"""Reads Blender as arrays and writes arrays back: meshes, weights, shape keys, armatures.

In the whole package, where a docstring does not say otherwise: `obj` is an original mesh object,
`armature` an original armature object, `depsgraph` an evaluated one; `skeleton` is at rest, and
`influences`, `joints` and `pose` name its bones; an array of n rows has one for each vertex.
"""
