"""TensorFlow itself, which only this package imports.

Its types are no part of PyHLO's environment, so it is one object without a type.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

# It tells about processors and plugins when it is imported; errors are still told.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def part(name: str) -> Any:
    """A module of TensorFlow.

    Raises
    ------
    ModuleNotFoundError
        if TensorFlow is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != "tensorflow":
            raise
        message = "TensorFlow is not installed: pip install 'pyhlo[tf]'"
        raise ModuleNotFoundError(message, name="tensorflow") from error


tf: Any = part("tensorflow")
