"""Identifiers in C, beside its keywords and the functions of its prelude."""

from __future__ import annotations

from codegen.elements import names
from emit_c.code.prelude import PRELUDE

# Those that emitted functions use themselves, beside C's words.
KEYWORDS = names.C_WORDS | {
    *("in", "out", "arena", "scratch", "run", "load_constants", "k", "level", "begin", "end"),
    *("at", "done", "step", "iteration", "status", "slot", "own", "given", "arguments"),
    *("call", "caller", "choice"),
}


class CNames(names.Names):
    """Identifiers of one scope in C, all different."""

    keywords = KEYWORDS

    def reserved(self) -> frozenset[str]:
        """The names of the functions and types that the prelude may define."""
        return PRELUDE.reserved
