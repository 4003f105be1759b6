"""What only a GPU needs: streams that run side by side, and schedules that hide waiting.

All here works on the module after fusion: each instruction is a kernel, a library call, a transfer,
or nothing at all. No standard pipeline does any of it: `emit_cuda` launches its kernels on one
stream, and one after the other is then the best schedule.
"""
