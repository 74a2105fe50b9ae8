"""The mathematics of every method, in numpy alone: it is the specification of all evaluators."""
