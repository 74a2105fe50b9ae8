"""*Add Sample Character*: a skinned human to try the add-on on."""
