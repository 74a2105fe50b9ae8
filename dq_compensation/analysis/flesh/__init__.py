"""Elastic flesh round joints, with contact: the shapes of *Solve Folds*; NumPy only."""
