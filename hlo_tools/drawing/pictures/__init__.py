"""Drawings of results of the optimizer, as SVG."""
