"""The kernels of a program: who writes each, several as one, and how they become text."""
