"""Opcodes without code of their own: passes of the optimizer write them as other instructions."""

from __future__ import annotations

from codegen.elements.table import Rewritten, elements
from hlo.opcode import having

STATIC = "it needs a module that was made static, as `compile` does"

elements.define_all(
    {
        **dict.fromkeys(
            having("wrapper"),
            Rewritten(
                "async-unwrapper", "what it starts or ends, another computation ends or starts"
            ),
        ),
        "dynamic-reshape": Rewritten("dynamic-padder", STATIC),
        "ragged-dot": Rewritten("ragged-dot-rewriter"),
        "rng": Rewritten("rng-expander"),
        "scaled-dot": Rewritten("scaled-dot-rewriter"),
        "scan": Rewritten("scan_expander"),
        "set-dimension-size": Rewritten("dynamic-padder", STATIC),
        "stochastic-convert": Rewritten(
            "stochastic_convert_decomposer", "only results of integers can be compiled"
        ),
    }
)
