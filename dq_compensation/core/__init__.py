"""The mathematics of every method, in numpy alone: the specification of all evaluators."""
