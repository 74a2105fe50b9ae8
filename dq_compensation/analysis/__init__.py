"""Analysis of weights, bones and poses for checks, painting and baking, in numpy alone."""
