"""Evidence that several checks look at."""
