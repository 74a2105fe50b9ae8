"""The 22 checks: one file per check, what it finds and how it is fixed."""
