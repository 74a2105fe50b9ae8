"""Edits example poses: adds, shapes and mirrors them, and goes to their poses."""
