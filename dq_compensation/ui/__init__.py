"""What the user sees and presses: properties, operators, panels."""
