"""Custom calls that are other instructions, or have a kernel that every emitter can write."""

from importlib import import_module
from pkgutil import iter_modules

# Files register their custom calls when they are imported.
for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
