"""The interface in other languages."""
