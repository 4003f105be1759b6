"""The engine: evaluates computations instruction by instruction, on one device or many."""
