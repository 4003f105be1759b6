"""Kernels in the making: their bodies, the loops around these, and lanes and threads for them."""
