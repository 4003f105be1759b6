"""Kernels of CUDA C: who computes what, and how their statements become text."""
