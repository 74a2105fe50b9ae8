"""Operators and panels of crowds."""
