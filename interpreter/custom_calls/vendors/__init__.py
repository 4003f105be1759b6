"""Custom calls of other platforms' libraries: cuBLAS, cuDNN, CUB, cuSOLVER, and those of TPUs.

The interpreter starts without them: they are imported when a module calls what nobody else defines.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules


@cache
def import_vendors() -> None:
    """Enter the functions and the checks of all files of this folder into their tables."""
    for module in iter_modules(__path__, f"{__name__}."):
        import_module(module.name)
