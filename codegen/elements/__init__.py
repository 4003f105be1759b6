"""Kernels in the making: elements of arrays as trees, and the statements that compute them."""
