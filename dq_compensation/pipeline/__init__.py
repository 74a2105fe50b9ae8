"""What leaves Blender: takes, crowds, bakes for programs without this add-on, and files."""
