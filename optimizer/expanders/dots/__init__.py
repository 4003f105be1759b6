"""Expanders of dot, ragged-dot and scaled-dot."""
