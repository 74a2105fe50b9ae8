"""Soft weights: *Soften Weights* and *Softness*."""
