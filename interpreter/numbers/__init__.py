"""Arithmetic on the element types of XLA, many of which NumPy does not have."""
