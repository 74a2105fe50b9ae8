"""Example poses as the artist works on them: adding, shaping, mirroring, going to them."""
