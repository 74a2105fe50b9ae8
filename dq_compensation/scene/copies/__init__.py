"""Makes copies of objects that others are deformed beside, and helper bones."""
