"""*Weights from Body*: clothes take the weights of the skin below them."""
