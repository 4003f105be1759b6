"""Expanders of random number generation."""
