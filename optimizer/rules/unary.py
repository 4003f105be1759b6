"""Rules whose left side is an elementwise operation with one operand."""

from __future__ import annotations

from interpreter.compare import ROUNDING
from optimizer.guards import is_floating, same_type
from optimizer.pattern import (
    a,
    abs_,
    complex_,
    convert,
    exponential,
    imag,
    log,
    negate,
    real,
    x,
    y,
)
from optimizer.rule import Rule

# fmt: off
RULES = (
    Rule(negate(negate(x)), x, xla="-(-A) => A"),
    Rule(abs_(abs_(x).as_(a)), a),
    Rule(log(exponential(x)), x, where=is_floating(x), promise=ROUNDING, xla="ln(exp(A)) => A",
         witness={"x": 0.1}),
    Rule(real(complex_(x, y)), x, xla="real(complex(r, i)) => r"),
    Rule(imag(complex_(x, y)), y, xla="imag(complex(r, i)) => i"),
    Rule(convert(x).as_(a), x, where=same_type(x, a), xla="convert(A) to its own type => A"),
)
# fmt: on
