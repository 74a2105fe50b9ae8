"""Reads Blender's data-blocks and writes them: armatures, meshes, animation, names, links."""
