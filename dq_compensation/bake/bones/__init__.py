"""Bakes to helper bones and weights for linear skinning."""
