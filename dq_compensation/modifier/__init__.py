"""The deformation as a Geometry Nodes modifier: real geometry, for everything that reads it."""
