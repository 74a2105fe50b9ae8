"""Reads and writes vertex weights."""
