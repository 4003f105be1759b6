"""XLA's answer to a module, as one more opinion: through jaxlib, in a process of its own."""

from dataclasses import replace

from hlo_tools.conformance.isolated import Isolated
from interpreter.numbers.compare import ROUNDING
from tests.fuzz.excuses import CHOICES, judge
from tests.fuzz.mistakes import Case
from tests.strategies.liberties import (
    counters_saturated,
    failures_of_lapack_unlike,
    initial_values_unlike,
    subnormals_flushed,
    zeros_counted_in_64_bits,
)

# So long XLA compiles and runs one module; the process is not missed before (`workers.PATIENCE`).
SECONDS = 20.0
PROMISE = replace(ROUNDING, flushed=True)
# XLA takes initial values to be neutral: it leaves one out where one element is folded, and takes
# one for each part of a concatenation.
LIBERTIES = (*CHOICES, initial_values_unlike, subnormals_flushed, failures_of_lapack_unlike)
# Faults of XLA, by an opcode that takes part in them. A counter that wraps around before it reaches
# its limit has gone round once for XLA, not many times (`tests/cases/simplify-while-loops`). Of a
# constant s32 -1 there are -32 leading zeros for XLA.
FAULTS = {"while": counters_saturated, "count-leading-zeros": zeros_counted_in_64_bits}
# Random numbers are any, and other ones for each backend.
RANDOM = ("rng", "rng-bit-generator", "rng-get-and-update-state")


class Xla:
    """XLA, or another backend that is asked in its place.

    Parameters
    ----------
    name : of a backend, as `hlo.backend_names.find` takes it.
    """

    def __init__(self, name: str = "xla") -> None:
        self._there = Isolated(name, SECONDS)

    def ask(self, case: Case) -> str:
        """Compare its value with the interpreter's: "value", "open", "refused" or "crashed".

        Raises
        ------
        Mistake
            if they differ, and nothing that XLA may choose excuses it.
        """
        header = case.module.header
        open_ = any(i.opcode in RANDOM for i in case.module.instructions())
        if open_ or header.replica_count * header.num_partitions > 1:
            return "open"
        answer = self._there.value(case.module, tuple(case.arguments))
        if answer.kind == "value":
            opcodes = {i.opcode for i in case.module.instructions()}
            faults = [fault for opcode, fault in FAULTS.items() if opcode in opcodes]
            judge(case, answer.value, "XLA", PROMISE, (*LIBERTIES, *faults))
        return answer.kind
