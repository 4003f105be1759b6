"""The table of rules that go beyond shapes: one function an opcode that has any.

A function takes `(scope, instr, attrs)` and raises an `HloError` at the instruction if it breaks a
rule. An opcode without an entry has no rule but that its shape is the inferred one.
"""

from __future__ import annotations

from collections.abc import Callable

from hlo.table import OpTable

Verify = Callable[..., None]

verifies: OpTable[Verify] = OpTable("verifies")
