"""The GPU evaluator: shaders, the data they read, and what is drawn in the 3D viewport."""
