"""Bytes as numbers of 32 bits, in loops in lanes that compute long functions.

    for j < 41: y[j] = mask[j] ? exp_f32(x[j]) : 0

becomes

    for j < 41: wide[j] = mask[j]
    for j < 41: y[j] = wide[j] ? exp_f32(x[j]) : 0

A compiler fills a vector with the narrowest numbers of a loop: 64 bytes, or 32 where a loop has
fewer iterations, and beside them as many f32 in several vectors. All other iterations are left over
and run one by one. Where each of them takes a long function, they take most of the time: without
this, rows of 25 exponentials under a mask take 3.9 times as long, of 41 1.5 and of 150 1.9 times.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Load, Name
from codegen.schedule.loop import LoopView
from codegen.schedule.stage import loading
from codegen.schedule.trace import attempt
from codegen.statements import For, Let, LocalVariable, base, in_lanes
from codegen.walk import names_of
from emit_c.kernels.peephole.loads import is_load
from emit_c.kernels.peephole.outline_math import has_long_functions
from hlo.support import machine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from codegen.statements import Statement


# C computes with integers of less than 32 bits as if they had 32.
NARROW = frozenset({"pred", "s8", "u8", "s16", "u16"})


def widen_bytes(body: Body, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose loops in lanes of long functions load no numbers of few bits."""
    return in_lanes(
        statements, lambda loop: _with_wide_loads(body, loop) if _has_costly_rest(loop) else None
    )


def _has_costly_rest(loop: For) -> bool:
    """Whether iterations that fill no vector of bytes are many, and take long."""
    bounds = LoopView(loop).bounds
    return (
        bounds is not None
        and (bounds.start, bounds.step) == (0, 1)
        and len(bounds) % machine.WIDEST_VECTOR > 0
        # What is left over is a large part of these, and they stay in the cache as words.
        and len(bounds) <= machine.L1_WAY
        and has_long_functions(loop)
    )


def _with_wide_loads(body: Body, loop: For) -> Sequence[Statement]:
    """A loop after the loops that load the narrow numbers that it needs."""
    declared = LoopView(loop).declared
    narrow = [s for s in loop.body if isinstance(s, Let) and _is_narrow_load(s, declared)]
    wide = {s.name: Load(Name(body.name("wide")), Name(loop.name)) for s in narrow}
    loads = {wide[s.name]: s.value for s in narrow if isinstance(s.value, Load)}
    copies = attempt(lambda: loading(loop, loads))
    if copies is None:
        return [loop]
    wide_loads: list[Statement] = []
    for element, copy in zip(wide.values(), copies, strict=True):
        wide_loads += (LocalVariable("s32", base(element), None, LoopView(loop).trips), copy)
    statements = (Let("s32", s.name, wide[s.name]) if s in narrow else s for s in loop.body)
    return (*wide_loads, replace(loop, body=tuple(statements)))


def _is_narrow_load(let: Let, inside: set[str]) -> bool:
    """Whether it loads an integer of few bits, from an address that is known before the loop."""
    return let.kind in NARROW and is_load(let.value) and inside.isdisjoint(names_of(let.value))
