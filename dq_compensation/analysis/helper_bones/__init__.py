"""Fits helper bones, so that linear skinning comes near the compensated result."""
