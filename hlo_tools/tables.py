"""The tables keyed by opcode, one a package, that `hlo ops` shows side by side.

A package that brings a table adds its row here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from hlo.table import OpTable

# The table's name and the package that defines it, in the order of the columns.
TABLES: Final = {
    "infers": "hlo.infer",
    "evaluates": "interpreter",
    "emits_c": "emit_c",
    "emits_cuda": "emit_cuda",
    "differentiates": "optimizer.derivative",
    "batches": "optimizer.batching",
}


def load_tables() -> dict[str, OpTable[Any]]:
    """Import every table, filled by its package's files."""
    return {name: getattr(import_module(package), name) for name, package in TABLES.items()}
