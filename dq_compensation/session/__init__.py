"""The state of the current session in Python; nothing here is saved in the file."""
