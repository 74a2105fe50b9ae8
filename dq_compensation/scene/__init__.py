"""From Blender to arrays: the one place that reads meshes, weights, shape keys and armatures."""
