"""Kernels in the making: how they are written, and the passes over their loops.

A file is a pass or what several of them ask. They are schedules over `codegen.schedule`; those that
transform no loop are in `peephole`.
"""
