"""Errors of passes, and of the modules that they make, in a line or a few."""

from __future__ import annotations

import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

from hlo.errors.error import HloError
from hlo.instruction import Module
from hlo.verify import verify

# The code of an instruction whose name another one has, and what its author should know.
TAKEN = "HLO051"
NEW_NAMES = (
    "each new instruction and computation needs a name of its own: `names = names_of(module)` of\n"
    "     hlo.walk, then `names.unique(name)`; a rule's function has `names` as a parameter"
)
OURS = Path(__file__).parents[3]


def malformed(after: Any) -> str | None:
    """The reason why a result is no sound module."""
    if not isinstance(after, Module):
        return f"its result is no module, but {after!r}"
    if fault_of(after) is None:
        return None
    # Said again, without lines of a text that is not shown.
    error = fault_of(without_spans(after))
    hint = f"\n   = {NEW_NAMES}" if isinstance(error, HloError) and error.code == TAKEN else ""
    return f"its result is not well-formed: {told(error)}{hint}"


def fault_of(module: Module) -> Exception | None:
    """The error that the verifier raises of a module; None if it is well-formed."""
    try:
        verify(module)
    except Exception as error:
        return error
    return None


def without_spans(module: Module) -> Module:
    """The module without the places of its instructions in a text, however malformed it is."""
    became: dict[Any, Any] = {}
    for computation in module.computations:
        for instr in computation.instructions:
            operands = tuple(became.get(o, o) for o in instr.operands)
            before = tuple(became.get(p, p) for p in instr.control_predecessors)
            called = tuple(became.get(c, c) for c in instr.called)
            became[instr] = replace(instr.rewired(operands, before, called), span=None)
        body = tuple(became[i] for i in computation.instructions)
        root = became.get(computation.root, computation.root)
        became[computation] = replace(computation, instructions=body, root=root)
    computations = tuple(became[c] for c in module.computations)
    return replace(module, computations=computations, entry=became.get(module.entry, module.entry))


def told(error: BaseException | None) -> str:
    """An error in a line or a few, without its place in the text of a module that is not shown."""
    if isinstance(error, HloError) and error.code == "HLO206":
        # An error of the user's file, as the file raised it.
        name = f"{type(error.__cause__ or error).__name__}: "
        where = f" ({Path(error.span.source.name).name}:{error.span.line})" if error.span else ""
        return f"{name}{error.message.removeprefix(name)}{where}"
    if isinstance(error, HloError):
        return str(HloError(error.code, error.message, notes=error.notes))
    return f"{type(error).__name__}: {error}"


def location_of(error: BaseException) -> str:
    """The location in the user's own file at which an error arose: " (my_pass.py:24, in run)"."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if OURS not in Path(f.filename).parents or "tests" in f.filename]
    if not own:
        return ""
    return f" ({Path(own[-1].filename).name}:{own[-1].lineno}, in {own[-1].name})"
