"""What panels and operators of all rooms share."""
