"""Kernels for a GPU's grids of threads: which thread computes what, and who waits for whom.

They are statements, like those of `codegen.loops`. Their words for threads, barriers and shuffles
are CUDA's, as other words are C's: an emitter respells what its language calls otherwise.
"""
