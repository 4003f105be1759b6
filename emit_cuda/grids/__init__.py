"""Kernels for a GPU's grids of threads: which thread computes what, and who waits for whom.

They are statements, like those of `codegen.loops`, with CUDA's names for threads, barriers and
shuffles. `loop`, `transposing`, `reduction` and `column_tiles` are schedules of plain loops, and
`bound` makes launches of them. The other files write algorithms of their own.
"""
