"""Kernels of CUDA C: the work of each thread, and how statements become text."""
