"""Colours that show how far the skin is from other methods' results."""
