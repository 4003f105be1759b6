"""The emission of opcodes, in the families of the interpreter's files."""

from importlib import import_module
from pkgutil import iter_modules

from codegen.elements.table import elements

__all__ = ["elements"]

# Files define their opcodes when they are imported.
for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
