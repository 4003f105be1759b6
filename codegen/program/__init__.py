"""A whole module: which values are stored, and where the memory of nested values is."""
