"""Bake to Bones: helper bones for engines that know linear skinning alone."""
