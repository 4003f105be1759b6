"""From what JAX sends to compile to a module of PyHLO, and back to what JAX asks of it."""
