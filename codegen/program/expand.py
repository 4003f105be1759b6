"""Instructions that are emitted as others: what the table says, and some forms of a few opcodes.

The pipeline of `optimizer` has done most of this already where it ran; without it, too, every
opcode has its code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from codegen.custom_calls.expansions import EXPANSIONS as CUSTOM_CALLS
from codegen.custom_calls.table import refuse
from codegen.elements.table import Entry, Expand, elements
from codegen.opcodes.alone import EXPANSIONS as COLLECTIVES
from hlo import attributes as a
from hlo.errors.error import HloError
from hlo.types.element_type import U64
from hlo.types.literal import literal
from hlo.types.shape import tuple_of
from hlo.walk import names_of, rebuild, rebuild_module
from interpreter.custom_calls.signatures import check_call
from interpreter.idle_loops import is_idle
from interpreter.plumbing import evaluate_constant
from optimizer.calls.async_unwrapper import AsyncUnwrapper
from optimizer.expanders.dots.ragged_dot_rewriter import dot_of_groups
from optimizer.expanders.dots.scaled_dot_rewriter import dot_of_scaled
from optimizer.expanders.op_expander import Site, element
from optimizer.expanders.parts import to_dims, to_type, wide
from optimizer.expanders.precision.explicit_precision import ExplicitPrecision
from optimizer.expanders.precision.result_caster import cast_result
from optimizer.expanders.random.rng_expander import draw
from optimizer.expanders.random.stochastic_convert_decomposer import round_by_bits
from optimizer.log import Log
from optimizer.rewriting.make import make, splat, value_of

if TYPE_CHECKING:
    from codegen.custom_calls.table import Kernels
    from hlo.instruction import Computation, Instruction, Module
    from hlo.table import OpTable


def expand(module: Module, table: OpTable[Entry], kernels: Kernels) -> Module:
    """The module in instructions that have code of their own.

    Parameters
    ----------
    table, kernels : an emitter's, of opcodes and of custom calls.

    Raises
    ------
    HloError
        HLO181 if a custom call is unknown, or if a collective needs other devices.
    """
    module = ExplicitPrecision().run(AsyncUnwrapper().run(module, Log()), Log())
    names = names_of(module)

    def change(computation: Computation) -> Computation:
        plan: dict[Instruction, Instruction] = {}
        for instr in computation.instructions:
            entry = table.get(instr.opcode)
            site = Site(instr, names)
            write = entry.write if isinstance(entry, Expand) else _FORMS.get(instr.opcode)
            made = write(site) if write else None
            if instr.opcode == "custom-call":
                made = _custom_call(site, kernels)
            if instr.opcode == "fusion" and "while" in instr.called[0].opcodes:
                # A kernel runs no loops of other kernels, as a scan becomes one.
                made = instr.with_(opcode="call", attrs=a.Call())
            if made is not None:
                plan[instr] = _laid_out(made, instr)
        return rebuild(computation, plan)

    return rebuild_module(module, change)


def _laid_out(made: Instruction, instr: Instruction) -> Instruction:
    """What takes an instruction's place, in its layout, at which bitcasts look."""
    if not instr.shape.is_array or made.shape == instr.shape:
        return made
    return make("copy", made, shape=instr.shape)


def refuse_async(site: Site) -> Instruction:
    """What starts and ends in one computation is a call by now."""
    message = f"{site.instr.name}: what it starts or ends, another computation ends or starts"
    raise HloError("HLO181", message, site.instr.span)


def random_numbers(site: Site) -> Instruction:
    """rng: arithmetic on random bits, which an array without elements does not need."""
    return draw(site) or splat(0, site.instr.shape)


def rounded_by_bits(site: Site) -> Instruction:
    """stochastic-convert: arithmetic and a comparison with random bits.

    Raises
    ------
    HloError
        HLO181 if the result is no integer.
    """
    made = round_by_bits(site)
    if made is None:
        kind = site.instr.shape.element_type
        message = f"{site.instr.name}: stochastic-convert to {kind} can't be compiled to C"
        raise HloError("HLO181", message, site.instr.span)
    return made


def whole_dimension(site: Site) -> Instruction:
    """set-dimension-size to as many elements as there are: the operand.

    Raises
    ------
    HloError
        HLO181 for any other size.
    """
    operand, size = site.instr.operands
    bound = operand.shape.dims[cast("a.Dimensions", site.instr.attrs).dimensions[0]]
    wanted = value_of(size)
    if operand.shape.is_dynamic or wanted is None or int(wanted) != bound:
        return run_time_size(site)
    return make("copy", operand, shape=site.instr.shape.with_dims(operand.shape.dims))


def run_time_size(site: Site) -> Instruction:
    """What changes sizes at run time, which dynamic-padder has written otherwise before.

    Raises
    ------
    HloError
        HLO181 where it has not.
    """
    message = f"{site.instr.name}: {site.instr.opcode} needs a module that was made static"
    note = "`emit_c.compile` does so; C that is emitted alone has arguments of one size"
    raise HloError("HLO181", message, site.instr.span, [note])


def _custom_call(site: Site, kernels: Kernels) -> Instruction | None:
    """A custom call that is another instruction; None for one that has a kernel."""
    check_call(site.instr)
    target = cast("a.CustomCall", site.instr.attrs).custom_call_target
    if target in CUSTOM_CALLS:
        return CUSTOM_CALLS[target](site)
    if target not in kernels:
        raise refuse(site.instr)
    return None


def _state_of_idle(site: Site) -> Instruction | None:
    """The initial state of a loop that changes nothing; None for any other loop."""
    return site.instr.operands[0] if is_idle(site.instr) else None


def _constant(site: Site) -> Instruction | None:
    """An elided constant with the values that the interpreter makes up for it."""
    attrs = cast("a.Constant", site.instr.attrs)
    if not attrs.literal.elided:
        return None
    made_up = literal(evaluate_constant(site.instr, attrs), attrs.literal.shape)
    return site.instr.with_(attrs=a.Constant(literal=made_up))


def _widened(site: Site) -> Instruction | None:
    """Linear algebra of small floats: in f32, rounded once at the end."""
    instr = site.instr
    operands = tuple(map(wide, instr.operands))
    if operands == instr.operands:
        return None
    shape = instr.shape.with_type(operands[0].shape.element_type)
    computed = instr.with_(operands=operands, shape=shape)
    return to_type(computed, instr.shape.element_type)


def _state_in_words(site: Site) -> Instruction | None:
    """rng-bit-generator on a state that is not given in words of 64 bits, or without the next."""
    instr, state = site.instr, site.instr.operands[0]
    kind, width = state.shape.element_type, state.shape.element_type.bits
    is_in_words = kind is U64 and state.shape.rank == 1
    if is_in_words and instr.shape.is_tuple:
        return None
    count = state.shape.size * width // 64
    halves = to_dims(state, (count, 64 // width) if width < 64 else (count,))
    shape = state.shape.with_type(U64).with_dims((count,))
    words = state if is_in_words else make("bitcast-convert", halves, shape=shape)
    bits = instr.shape.elements[1] if instr.shape.is_tuple else instr.shape
    both = instr.with_(operands=(words,), shape=tuple_of(words.shape, bits))
    if not instr.shape.is_tuple:
        return element(both, 1)
    new = make("bitcast-convert", element(both, 0), shape=halves.shape)
    return make("tuple", to_dims(new, state.shape.dims), element(both, 1))


_FORMS = {
    "cholesky": _widened,
    "constant": _constant,
    "convolution": cast_result,
    "dot": cast_result,
    "rng-bit-generator": _state_in_words,
    "triangular-solve": _widened,
    "while": _state_of_idle,
}

elements.define_all(
    {
        **{opcode: Expand(write) for opcode, write in COLLECTIVES.items()},
        **dict.fromkeys(("async-start", "async-update", "async-done"), Expand(refuse_async)),
        "dynamic-reshape": Expand(run_time_size),
        "ragged-dot": Expand(dot_of_groups),
        "rng": Expand(random_numbers),
        "scaled-dot": Expand(dot_of_scaled),
        "set-dimension-size": Expand(whole_dimension),
        "stochastic-convert": Expand(rounded_by_bits),
    }
)
