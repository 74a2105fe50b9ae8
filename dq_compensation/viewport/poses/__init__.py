"""Poses on the GPU, of all objects that are skinned together."""
