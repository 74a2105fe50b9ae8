"""Operators and panel of Setup Check."""
