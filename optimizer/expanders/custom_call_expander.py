"""Writes custom calls that need no kernel as instructions.

custom-call(x), custom_call_target="MoveToHost"   =>   opt-barrier(x)
custom-call(x), custom_call_target="TopK"         =>   topk(x), k=3, largest=true
custom-call(), custom_call_target="AllocateBuffer"   =>   broadcast(0)

A call of a function that is known by name alone stays: an emitter has a kernel for it, or refuses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.sharded import CUTS, JOINS, sharding_holders
from hlo.support.lazily import import_files
from hlo.types.element_type import U32, U64
from hlo.types.shape import array, tuple_of
from interpreter.custom_calls.options import config
from interpreter.custom_calls.placement import identity
from interpreter.custom_calls.registry import CUSTOM_CALLS
from interpreter.custom_calls.signatures import problem_of
from interpreter.numbers.compare import BITS
from optimizer.expanders.op_expander import ExpansionSite, element, expand
from optimizer.expanders.parts import bits_of, cut, full, to_dims, to_type
from optimizer.passes import register
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.instruction import Instruction, Module
    from optimizer.log import Log

    Expansion = Callable[[ExpansionSite], Instruction | None]

EXPANSIONS: dict[str, Expansion] = {}


def expansion(*targets: str) -> Callable[[Expansion], Expansion]:
    """Register the decorated function for custom calls of some names."""

    def register(function: Expansion) -> Expansion:
        EXPANSIONS.update(dict.fromkeys(targets, function))
        return function

    return register


@expansion(*(t for t, function in CUSTOM_CALLS.items() if function is identity), *CUTS, *JOINS)
def device_transfer(site: ExpansionSite) -> Instruction | None:
    """The operand, or the tuple of operands; where they are to be makes no difference here.

    None if the result is a part of the operand, as on one of several devices, or if it is a buffer:
    only calls make these. An array that is pinned and given back at once is no buffer meanwhile.
    """
    instr = site.instr
    pinned = instr.operands[0] if _calls(instr, "Unpin") else instr
    if _calls(pinned, "Pin") and instr is not pinned:
        return make("opt-barrier", pinned.operands[0], shape=instr.shape)
    if any(s.is_buffer for s in (instr.shape, *(o.shape for o in instr.operands))):
        return None
    if instr.shape.is_tuple and not instr.shape.elements:
        return make("tuple")
    several = instr.shape.is_tuple and len(instr.operands) != 1
    wanted = instr.shape.elements if several else (instr.shape,)
    for operand, shape in zip(instr.operands, wanted, strict=False):
        if not operand.shape.is_tuple and operand.shape.dims != shape.dims:
            return None
    if several:
        return make("tuple", *instr.operands)
    return make("opt-barrier", instr.operands[0], shape=instr.shape)


def _calls(instr: Instruction, target: str) -> bool:
    return instr.opcode == "custom-call" and a.CustomCall.of(instr).custom_call_target == target


@expansion("AllocateBuffer", "CreateBuffer")
def allocate(site: ExpansionSite) -> Instruction:
    """Zeros in the place of memory that nobody has written yet."""
    return splat(0, array(site.instr.shape.element_type, site.instr.shape.dims))


@expansion("dce_sink")
def sink(_site: ExpansionSite) -> Instruction:
    """An empty tuple: the call only keeps its operands from being removed."""
    return make("tuple")


@expansion("GetRngSeed")
def random_seed(_site: ExpansionSite) -> Instruction:
    """The low half of the device's random state, which stays as it is."""
    state = make("rng-get-and-update-state", shape=array(U64, (2,)), delta=0)
    return to_dims(cut(state, 0, 0, 1), ())


@expansion("TopK", "__gpu$TopK")
def top_k(site: ExpansionSite) -> Instruction:
    """The k largest elements of the last dimension, and where they are."""
    k = site.instr.shape.elements[0].dims[-1]
    return site.instr.with_(opcode="topk", attrs=a.TopK(k=k, largest=True), called=())


@expansion("ApproxTopK")
def approximate_top_k(site: ExpansionSite) -> Instruction:
    """The first k elements along a dimension in the order of the called comparator."""
    instr = site.instr
    dim, k = (int(config(instr)[key]) for key in ("reduction_dim", "top_k"))
    arrays = instr.operands[: len(instr.operands) // 2]
    several = len(arrays) > 1
    shape = tuple_of(*(x.shape for x in arrays)) if several else instr.operands[0].shape
    # A comparator is called for its order alone, so equal elements keep theirs.
    ordered = make(
        "sort", *arrays, shape=shape, called=instr.called, dimensions=(dim,), is_stable=True
    )
    parts = [element(ordered, i) for i in range(len(arrays))] if several else [ordered]
    firsts = [cut(part, dim, 0, min(k, part.shape.dims[dim])) for part in parts]
    return make("tuple", *firsts) if instr.shape.is_tuple else firsts[0]


@expansion("X64SplitLow", "X128SplitLow")
def low_part(site: ExpansionSite) -> Instruction:
    """The low bits of integers, the rest of f64 beyond f32, or the real part."""
    (whole,), part = site.instr.operands, site.instr.shape.element_type
    if whole.shape.element_type.is_complex:
        return make("real", whole)
    if whole.shape.element_type.is_floating:
        rounded = to_type(to_type(whole, part), whole.shape.element_type)
        rest = make("subtract", whole, rounded)
        # Infinities and NaN have no rest.
        return to_type(make("select", make("is-finite", rest), rest, full(0, rest)), part)
    return to_type(whole, part)


@expansion("X64SplitHigh", "X128SplitHigh")
def high_part(site: ExpansionSite) -> Instruction:
    """The high bits of integers, f64 as f32, or the imaginary part."""
    (whole,), part = site.instr.operands, site.instr.shape.element_type
    if whole.shape.element_type.is_complex:
        return make("imag", whole)
    if whole.shape.element_type.is_floating:
        return to_type(whole, part)
    return to_type(make("shift-right-logical", whole, 32), part)


@expansion("X64Combine", "X128Combine")
def combine_parts(site: ExpansionSite) -> Instruction:
    """The values that have these low and high parts."""
    low, high = site.instr.operands
    kind = site.instr.shape.element_type
    if kind.is_complex:
        return make("complex", low, high)
    if kind.is_floating:
        return make("add", to_type(high, kind), to_type(low, kind))
    raised = make("shift-left", to_type(bits_of(high, U32), U64), 32)
    return bits_of(make("or", raised, to_type(bits_of(low, U32), U64)), kind)


@register
@dataclass(frozen=True)
class CustomCallExpander:
    """Replaces custom calls that are other instructions by these."""

    name = "custom-call-expander"
    promise = BITS

    def run(self, module: Module, log: Log) -> Module:
        """The module without such calls; a sharding that another call reads stays."""
        read = sharding_holders(module)

        def expand_call(site: ExpansionSite) -> Instruction | None:
            return None if site.instr in read else expanded(site)

        return expand(module, log, {"custom-call": expand_call}, always=True)


def expanded(site: ExpansionSite) -> Instruction | None:
    """The instruction that a custom call is, if any.

    A call whose operands or options are not what it expects stays: it is refused where it is run
    or emitted, and it may be that nobody needs it.
    """
    rewrite = all_expansions().get(a.CustomCall.of(site.instr).custom_call_target)
    return None if rewrite is None or problem_of(site.instr) else rewrite(site)


@cache
def all_expansions() -> dict[str, Expansion]:
    """All expansions: also those of files that nothing has imported yet."""
    import_files("optimizer.expanders")
    return EXPANSIONS
