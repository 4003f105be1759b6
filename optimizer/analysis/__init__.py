"""Facts about computations, found when asked and never stored in the graph."""
