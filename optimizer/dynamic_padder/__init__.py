"""Modules with dimensions of run-time size, made static: arrays of the bounds, and sizes beside.

`f32[<=10]` becomes a f32[10] and a s32 that says how many elements count. What lies after them is
never looked at: where opcodes mix elements, it is replaced by what leaves the others alone.
XLA's dynamic padder does the same.
"""
