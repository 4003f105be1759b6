"""Kernels in the making: their bodies, the loops around these, and threads that share the loops."""
