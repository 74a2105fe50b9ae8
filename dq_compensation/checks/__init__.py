"""Setup Check: what spoils a deformation, and how it is mended. One file per check."""
