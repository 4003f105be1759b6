"""CUDA C on the processor: blocks, threads, warps and barriers, without a GPU."""
