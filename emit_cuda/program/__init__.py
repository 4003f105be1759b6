"""A whole module: its kernels, its steps, and where its arrays lie."""
