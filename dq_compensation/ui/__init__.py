"""The user interface: properties, operators, panels."""
