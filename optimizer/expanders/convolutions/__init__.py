"""Expanders of convolution."""
