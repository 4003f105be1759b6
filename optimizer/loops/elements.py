"""Transformations that take elements out of a loop's state."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from hlo.attributes import Constant
from hlo.effects import has_effect, ordered
from optimizer.identity import Identity, reads_layouts
from optimizer.loops.narrow import Affine, StandIns, narrowed
from optimizer.loops.state import elements_needed, elements_taken
from optimizer.loops.trip_count import induction_index, number, step_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hlo.instruction import Instruction
    from optimizer.loops.site import LoopSite
    from optimizer.loops.state import Loop


def dead_elements(site: LoopSite) -> Instruction | None:
    """Removes elements that neither the loop's users, its condition nor other elements use.

    One that the loop never changes may be used after it, since it is still what it was at first.

    References
    ----------
    XLA, `TryRemoveDeadWhileParams` in `xla/service/while_loop_simplifier.cc`.
    """
    loop = site.loop
    live = live_elements(site)
    gone: StandIns = {i: None for i in range(loop.size) if i not in live}
    return narrowed(site, gone) if gone else None


def live_elements(site: LoopSite) -> set[int]:
    """The elements that must be carried from iteration to iteration."""
    loop, live = site.loop, set[int]()
    pending = {i for i in site.used if not loop.is_invariant(i)}
    for computation in loop.instr.called:
        roots = [i for i in computation.instructions if has_effect(i)]
        roots += ordered(computation)
        # The body's root needs every element; each element's own needs decide.
        pending |= elements_needed(computation, [i for i in roots if i is not loop.body.root])
    pending |= elements_needed(loop.condition, [loop.condition.root])
    while pending:
        live |= pending
        needed = [loop.next[i] for i in pending if not loop.is_invariant(i)]
        pending = elements_needed(loop.body, needed) - live
    return live


def constant_elements(site: LoopSite) -> Instruction | None:
    """Replaces elements that are always the same constant by that constant, inside and after.

    References
    ----------
    XLA, `TryPropagateConstant` in `xla/service/while_loop_simplifier.cc`.
    """
    loop, gone = site.loop, cast("StandIns", {})
    for i in range(loop.size):
        first = loop.initial(i)
        if first is not None and is_known_constant(first):
            following = loop.next[i]
            same = following.opcode == "constant" and following.attrs == first.attrs
            if same or loop.is_invariant(i):
                gone[i] = first
    return narrowed(site, gone) if gone else None


def is_known_constant(instr: Instruction) -> bool:
    """Whether an instruction is a constant whose value is not left out of the text."""
    return instr.opcode == "constant" and not Constant.of(instr).literal.elided


def induction_variables(site: LoopSite) -> Instruction | None:
    """Computes counters from one of them, so that only that is carried.

    An integer that starts at a and rises by s is (s / t) (i - b) + a for another that starts at b
    and rises by t, if t divides s; where the type wraps around, both do. The one that decides when
    the loop ends stays, for what follows recognizes it.

    References
    ----------
    XLA, `TryMergeInductionVariables` in `xla/service/while_loop_simplifier.cc`, which adds a
    counter of iterations for them all.
    """
    loop = site.loop
    counters = {i: counter for i in range(loop.size) for counter in [_counter(loop, i)] if counter}
    deciding = induction_index(loop)
    base = deciding if deciding in counters else next(iter(counters), None)
    if base is None:
        return None
    first, step = counters[base]
    gone: StandIns = {}
    for i, (start, rise) in counters.items():
        alike = loop.instr.shape.elements[i] == loop.instr.shape.elements[base]
        if i != base and alike and rise % step == 0:
            factor = rise // step
            offset = start - factor * first
            gone[i] = Affine(base, factor, offset) if (factor, offset) != (1, 0) else base
    return narrowed(site, gone) if gone else None


def _counter(loop: Loop, i: int) -> tuple[int, int] | None:
    """The start and the step of an element, if both are constant integers."""
    initial, step = loop.initial(i), step_of(loop, i)
    start = None if initial is None else number(initial)
    return None if start is None or not step else (start, step)


def repeated_elements(site: LoopSite) -> Instruction | None:
    """Merges elements that are equal at first and change alike in every iteration.

    Elements equal at first are taken to be equal always, until the body, where it takes one for
    another, computes different things for two of them; those are told apart, and so on. What is
    left is equal by induction on the iterations.

    References
    ----------
    XLA, `TryRemoveRepeatedWhileTupleIndices` in `xla/service/while_loop_simplifier.cc`.
    """
    loop = site.loop
    firsts = [loop.initial(i) for i in range(loop.size)]
    classes = numbered(
        [
            (first.attrs if first.opcode == "constant" else first, first.shape)
            for first in firsts
            if first is not None
        ]
    )
    count = 0
    while count < len(set(classes)) < loop.size:
        count = len(set(classes))
        sizes = Counter(classes)
        alike = [n for c, n in zip(classes, loop.next, strict=True) if sizes[c] > 1]
        values = values_of(loop, classes, alike)
        # An element alone in its class stays alone.
        classes = numbered([(c, values.get(n)) for c, n in zip(classes, loop.next, strict=True)])
    representative = {c: i for i, c in reversed(list(enumerate(classes)))}
    gone: StandIns = {i: representative[c] for i, c in enumerate(classes) if representative[c] != i}
    return narrowed(site, gone) if gone else None


def numbered(keys: Sequence[Any]) -> list[int]:
    """A number for each key, the same for equal ones."""
    numbers: dict[Any, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def values_of(
    loop: Loop, classes: Sequence[int], wanted: Iterable[Instruction]
) -> dict[Instruction, int]:
    """A number for each of some values of the body, the same for equal values.

    What has an effect, or is tied to something, is not taken for anything else.

    Parameters
    ----------
    classes : of the elements; those of one class are taken to be equal.
    wanted : these instructions; what they need has a number too.
    """
    identity = Identity(is_layout_sensitive=reads_layouts(loop.body))
    taken, tied = elements_taken(loop.body), ordered(loop.body)
    needed = set(wanted)
    for instr in reversed(loop.body.instructions):
        if instr in needed:
            needed.update(instr.operands)
    numbers: dict[Any, int] = {}
    values: dict[Instruction, int] = {}
    for instr in loop.body.instructions:
        if instr not in needed:
            continue
        if instr in taken:
            key: Any = ("element", classes[taken[instr]])
        elif instr.opcode == "parameter" or instr in tied or has_effect(instr):
            key = instr
        else:
            key = identity.key(instr, values)
        values[instr] = numbers.setdefault(key, len(numbers))
    return values
