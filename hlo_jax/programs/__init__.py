"""Conversion of programs that JAX sends to modules of PyHLO, and of answers to JAX."""
