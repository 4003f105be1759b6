"""The meaning of every opcode, in plain NumPy.

`evaluate(module, *arguments)` runs a module. Each opcode's function stands in the table
`evaluates`, each custom call's is registered by `custom_call`.
"""

from importlib import import_module
from pkgutil import walk_packages

from interpreter.custom_calls.registry import custom_call
from interpreter.engine.device import Device
from interpreter.engine.evaluate import evaluate
from interpreter.engine.frame import Evaluation, Frame
from interpreter.numbers.compare import compare
from interpreter.table import evaluates

# A file of these folders defines its opcodes when it is imported.
for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)

__all__ = ["Device", "Evaluation", "Frame", "compare", "custom_call", "evaluate", "evaluates"]
