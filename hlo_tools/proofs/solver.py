"""The SMT solver, z3: loaded when it is first used, since only proofs need it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from hlo.errors.error import HloError

if find_spec("z3") is None:
    raise HloError(
        "HLO207",
        "proofs need the SMT solver z3, which is not installed",
        notes=("pip install z3-solver",),
    )
z3: Any = import_module("z3")
# z3's terms have no types that say more than this.
Solved = Any
