"""The node trees that deform a mesh."""
