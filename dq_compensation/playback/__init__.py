"""Takes: the motion of rigs, cached so that it plays without them."""
