"""ATen operations in HLO: the table, and its entries by kind."""

from importlib import import_module
from pkgutil import iter_modules

# Files enter their rules when they are imported.
for _module in iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)
