"""Solved shapes of joints: added, listed, removed."""
