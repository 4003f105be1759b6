"""Engines that run programs: the interpreter, C, or CUDA, chosen by name."""
