"""The checks: one file per check, which finds problems and fixes them."""
