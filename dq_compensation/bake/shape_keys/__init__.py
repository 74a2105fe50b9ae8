"""Bakes a pose or a range of frames to shape keys."""
