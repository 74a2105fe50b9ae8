"""How settings are declared, and what follows when one changes."""
