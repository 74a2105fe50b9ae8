"""Measures and reshapes how weights cross from one bone to the next."""
