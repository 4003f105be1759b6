"""What every opcode means, in plain NumPy."""

from importlib import import_module
from pkgutil import iter_modules

from interpreter.device import Device
from interpreter.evaluate import evaluate
from interpreter.frame import Event, Frame
from interpreter.table import evaluates

# A file of this folder defines its opcodes when it is imported.
for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["Device", "Event", "Frame", "evaluate", "evaluates"]
