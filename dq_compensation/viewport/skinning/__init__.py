"""Skins meshes on the GPU."""
