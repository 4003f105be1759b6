"""Expanders of reduce, reduce-window, scan and select-and-scatter."""
