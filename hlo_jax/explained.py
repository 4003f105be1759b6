"""The history of programs: which engine runs each, how often, and why no other."""

from __future__ import annotations

from hlo.frontends.calls import table
from hlo_jax.plugin.loaded import BY_HANDLE


def explain() -> str:
    """A table of the programs that JAX holds now, a line each."""
    rows = [("program", "engine", "calls", "of these in C", "note")]
    for loaded in list(BY_HANDLE.values()):
        in_c = loaded.record.calls
        counts = str(loaded.calls + in_c), str(in_c)
        rows.append((loaded.program.module.name, loaded.engine.name, *counts, loaded.engine.note))
    return table(rows)
