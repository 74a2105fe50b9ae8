"""Carries out fixes, and checks beforehand that they are possible; knows no check."""
