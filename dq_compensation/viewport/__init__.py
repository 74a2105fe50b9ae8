"""The GPU display: shaders, the data that they read, and the drawing in the 3D viewport."""
