"""Bakes shape keys that drivers switch on by the pose."""
