"""Registering the plugin, and letting go of Python at the end."""

from __future__ import annotations

import atexit
import ctypes
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import hlo_jax.plugin
from hlo_jax.abi.numbers import TYPES
from hlo_jax.dlpack import share_by_dlpack
from hlo_jax.engines.callbacks import SHARDS, WHOLE, enter
from hlo_jax.ffi.handlers import register_target, register_types
from hlo_jax.plugin.memory import text
from hlo_jax.plugin.table import capsule, table
from hlo_jax.private.callbacks import emit_callbacks, hear_of_foreign_functions
from hlo_jax.private.programs import inspect_shardings
from hlo_jax.private.registration import (
    call_what_is_exported_for_cpu,
    choose_like_cpu,
    find_cpu,
    keep_in_compilation_cache,
    lower_like_cpu,
    register_plugin,
    wait_so_that_signals_end_it,
)
from hlo_jax.private.versions import PLATFORM, is_too_old, jaxlib_version, moved
from hlo_jax.shim import address_of, records


@cache
def register() -> None:
    """Enter the plugin into JAX's list.

    Raises
    ------
    ImportError
        If jaxlib is too old, or so new that JAX's private functions are not as they were.
    """
    open_table()
    hook_into_jax()
    try:
        register_plugin(capsule())
    except (ImportError, AttributeError, KeyError, TypeError) as error:
        raise moved(error) from error


@cache
def open_table() -> int:
    """Fill the table of PJRT's functions; gives its address.

    Raises
    ------
    ImportError
        If jaxlib is too old.
    """
    if is_too_old():
        raise ImportError(f"{PLATFORM}: jaxlib {jaxlib_version()} is too old")
    # A file of this folder enters its functions when it is imported.
    for module in iter_modules(hlo_jax.plugin.__path__):
        import_module(f"{hlo_jax.plugin.__name__}.{module.name}")
    _hook()
    atexit.register(table().end)
    return table().address


@cache
def hook_into_jax() -> None:
    """Let JAX, in whose process this is, treat the platform as it treats XLA's CPU.

    Raises
    ------
    ImportError
        If jaxlib is so new that JAX's private functions are not as they were.
    """
    try:
        find_cpu()
        wait_so_that_signals_end_it()
        lower_like_cpu()
        choose_like_cpu()
        keep_in_compilation_cache()
        share_by_dlpack()
        emit_callbacks(WHOLE, SHARDS, enter)
        inspect_shardings()
        call_what_is_exported_for_cpu()
        hear_of_foreign_functions(register_target, register_types)
    except (ImportError, AttributeError, KeyError, TypeError) as error:
        raise moved(error) from error


def _hook() -> None:
    """Give the shim the functions of Python that it needs."""
    hooks = records.Hooks.from_address(address_of("hooks") or 0)
    hooks.types = max(TYPES) + 1
    sizes = [
        TYPES[n].dtype.itemsize if n in TYPES and TYPES[n].is_array else 0
        for n in range(hooks.types)
    ]
    hooks.item_bytes, _ = text(bytes(sizes))
    hooks.ensure = _address(ctypes.pythonapi.PyGILState_Ensure)
    hooks.release = _address(ctypes.pythonapi.PyGILState_Release)
    hooks.check = _address(ctypes.pythonapi.PyErr_CheckSignals)
    hooks.clear = _address(ctypes.pythonapi.PyErr_Clear)
    hooks.interrupt = _address(ctypes.pythonapi.PyErr_SetInterrupt)
    hooks.has_lock = _address(ctypes.pythonapi.PyGILState_Check)
    hooks.unlock = _address(ctypes.pythonapi.PyEval_SaveThread)
    hooks.relock = _address(ctypes.pythonapi.PyEval_RestoreThread)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0
