"""What the modifier display keeps in meshes: attributes, the objects that have them, points."""
