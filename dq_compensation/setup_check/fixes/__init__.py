"""What several fixes need: requirements, bones and their motion, weights. It knows no check."""
