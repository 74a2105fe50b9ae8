"""The GPU as this add-on uses it: shaders, textures, uniform blocks."""
