"""Dot products and convolutions: sums of products in register tiles."""
