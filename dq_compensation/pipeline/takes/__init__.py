"""Takes of armatures: cached, checked, played."""
