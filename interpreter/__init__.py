"""The meaning of every opcode, in plain NumPy.

`evaluate(module, *arguments)` runs a module. The table `evaluates` has each opcode's function, and
`custom_call` registers one for a custom call. Floats are those of IEEE 754, with subnormal numbers,
which compiled code may take for zeros (`codegen.subnormals`).

Examples
--------
>>> import hlo, interpreter
>>> import numpy as np
>>> module = hlo.parse("ENTRY e { x = f32[2,3] parameter(0)  ROOT y = f32[2,3] negate(x) }")
>>> interpreter.evaluate(module, np.ones((2, 3), np.float32))
array([[-1., -1., -1.],
       [-1., -1., -1.]], dtype=float32)
"""

from importlib import import_module
from pkgutil import walk_packages

from interpreter.custom_calls.registry import custom_call
from interpreter.engine.device import Device
from interpreter.engine.evaluate import evaluate
from interpreter.engine.frame import Evaluation, Frame
from interpreter.numbers.compare import compare
from interpreter.table import evaluates

# A file of these folders defines its opcodes when it is imported; those of vendors can wait.
for _module in walk_packages(__path__, f"{__name__}."):
    if ".vendors." not in _module.name:
        import_module(_module.name)

__all__ = ["Device", "Evaluation", "Frame", "compare", "custom_call", "evaluate", "evaluates"]
