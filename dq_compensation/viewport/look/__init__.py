"""How a surface looks in the shading modes of a viewport."""
