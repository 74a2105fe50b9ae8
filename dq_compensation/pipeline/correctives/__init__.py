"""Bake Correctives: shape keys that drivers turn on, and examples made from such keys."""
