"""The objects of a drawing, gathered in batches that are skinned and drawn at once."""
