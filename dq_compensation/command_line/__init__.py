"""`blender --command dq_compensation`: the command line, for files by the hundred."""
