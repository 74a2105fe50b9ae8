"""Poses, skins and draws the figures of crowds on the GPU."""
