"""Passes for GPUs: streams that run side by side, and schedules that hide waiting.

All here works on the module after fusion: each instruction is a kernel, a library call, a transfer,
or nothing at all. The standard pipeline makes pairs of collectives and moves their halves apart;
small kernels on streams of their own (async-wrapper) are left to the user, as XLA leaves them.
"""
