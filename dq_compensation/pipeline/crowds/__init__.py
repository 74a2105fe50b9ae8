"""Crowds: who stands where and plays what, their display on the GPU, and their bake."""
