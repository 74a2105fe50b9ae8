"""Operators and panels of takes."""
