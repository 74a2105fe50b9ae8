"""Setup Check: finds what spoils a deformation, and fixes it."""
