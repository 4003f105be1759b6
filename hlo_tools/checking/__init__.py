"""Holding passes against the interpreter: what may differ, what must not, and where to look."""
