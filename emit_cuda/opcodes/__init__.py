"""Opcodes that CUDA writes otherwise than all emitters: the entries of its table."""
