"""Expanders of gather, scatter and the dynamic slices."""
