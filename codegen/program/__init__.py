"""A whole module: which values are stored and where, and the steps of a program of a device."""
