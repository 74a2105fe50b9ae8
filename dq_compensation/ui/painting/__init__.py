"""Operators and panels to paint weights and to see what they do."""
