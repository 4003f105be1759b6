"""A trace as a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hlo.support.garbage import no_collection
from hlo_tools.trace.document import Document
from hlo_tools.trace.recording import record

if TYPE_CHECKING:
    from hlo.instruction import Module
    from hlo_tools.trace.values import Values
    from optimizer.log import Pass
    from optimizer.pipelines import Target

# Instructions of loops that are evaluated for the values of a trace.
MOST_EVALUATED = 300_000
# Instructions up to which a trace has values unless it is asked for them.
FEW = 3000


def trace_data(
    module: Module,
    passes: Pass,
    values: Values | None = None,
    *,
    target: Target = "cpu",
    assembly: bool = False,
) -> dict[str, Any]:
    """The trace of passes over a module, as `Document` has it.

    Parameters
    ----------
    values, target, assembly : as of `Document`.
    """
    with no_collection(looks_after=False):
        recording = record(module, passes, target)
        return Document(recording, values, target=target, assembly=assembly).as_data()


def trace_text(data: dict[str, Any]) -> str:
    """A trace as JSON in one line, which ends as a line does."""
    return json.dumps(data, ensure_ascii=True, separators=(",", ":")) + "\n"


def is_small(module: Module) -> bool:
    """Whether a trace may as well have values."""
    return sum(1 for _ in module.instructions()) <= FEW
