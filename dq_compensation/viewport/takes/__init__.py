"""The takes that objects play on the GPU."""
