"""Bakes crowds to instances, whose poses stand in tables."""
