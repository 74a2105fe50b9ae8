"""Operators and panels of example poses."""
