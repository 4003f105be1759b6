"""CUDA C before it is text: names, and the functions that kernels call."""
