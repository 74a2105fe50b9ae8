"""The hidden object that gives bones to the node trees."""
