"""Expanders of factorizations, triangular systems and batch normalization."""
