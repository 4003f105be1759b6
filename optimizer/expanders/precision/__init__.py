"""Expanders that change the element type in which a value is computed."""
