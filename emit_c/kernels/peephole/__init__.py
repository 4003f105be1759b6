"""Passes over kernels that transform no loop: they change types, functions, conditions and names.

What compilers make of a loop depends on them: a division becomes a product, a condition a mask. The
schedules beside this folder ask some of them, such as which functions are long.
"""
