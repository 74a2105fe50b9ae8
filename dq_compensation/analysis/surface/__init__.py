"""The skin as a surface: its graph, its seams, what crosses, what is smooth on it."""
