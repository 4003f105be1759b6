"""CUDA C from HLO: emitted, compiled, and run on a GPU or on the processor.

The same text goes up four rungs: NVRTC compiles it to a cubin, `host` runs it on the processor
with a model of CUDA's threads, PyCUDA drives it, and a GPU runs it.
"""
