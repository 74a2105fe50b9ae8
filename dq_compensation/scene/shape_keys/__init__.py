"""Writes shape keys, their animation and the drivers that correct poses."""
