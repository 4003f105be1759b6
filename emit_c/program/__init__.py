"""From a module to its C: which values get buffers, which kernels are called in which order."""
