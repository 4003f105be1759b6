"""Opcodes that are done between kernels; inside computations of scalars they are C statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.elements.body import Body
from codegen.elements.table import BetweenKernels, elements
from codegen.elements.writer import Environment
from codegen.expressions import Expr, Literal, binary, negated
from codegen.kinds import wide
from codegen.statements import Break, Forever, If
from hlo.errors.error import HloError
from hlo.wording import with_article

if TYPE_CHECKING:
    from codegen.elements.writer import Values
    from codegen.statements import Statement
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from optimizer.analysis.indexing import Index


# The C that stands for a token.
NOTHING = Literal(0)


def write_call(body: Body, instr: Instruction, index: Index) -> Values:
    """The computation in place, its parameters standing for the operands."""
    environment = Environment()
    computation = instr.called[0]
    pairs = zip(computation.parameters, instr.operands, strict=True)
    environment.aliases = {p: (body.environment, o) for p, o in pairs}
    return Body(body.writer, environment).elements(computation.root, index)


def write_tuple(body: Body, instr: Instruction, index: Index) -> Values:
    """The elements of all operands, one after the other."""
    return tuple(v for operand in instr.operands for v in body.elements(operand, index))


def write_conditional(body: Body, instr: Instruction, _index: Index) -> Values:
    """Scalars that one of several blocks computes."""
    _only_scalars(instr)
    choice, *operands = instr.operands
    chosen = body.scalar(choice)
    results = _variables(body, instr)
    arguments = [body.elements(o, ()) for o in operands]
    chain: tuple[Statement, ...] = ()
    for number in reversed(range(len(operands))):
        with body.block() as statements:
            values = body.apply(instr.called[number], *arguments[number])
            for result, value in zip(results, values, strict=True):
                body.assign(result, value)
        holds = chosen if choice.shape.element_type.name == "pred" else binary("==", chosen, number)
        chain = (If(holds, tuple(statements), chain),) if chain else tuple(statements)
    body.add(*chain)
    return results


def write_while(body: Body, instr: Instruction, _index: Index) -> Values:
    """Scalars that a block changes as long as another one says so."""
    _only_scalars(instr)
    state = _variables(body, instr, body.elements(instr.operands[0], ()))
    condition, step = instr.called
    shapes = [s for _, s in instr.shape.leaves()]
    with body.block() as statements:
        if body.writer.poll:
            body.add(body.writer.poll)
        now = [
            body.let(wide(s.element_type), "state", v) if s.is_array else NOTHING
            for s, v in zip(shapes, state, strict=True)
        ]
        body.add(Break(negated(body.apply(condition, *now)[0])))
        for variable, value in zip(state, body.apply(step, *now), strict=True):
            if variable != NOTHING:
                body.assign(variable, value)
    body.add(Forever(tuple(statements)))
    return state


def _only_scalars(instr: Instruction) -> None:
    if not all(_scalars_of(i.shape) for i in (instr, *instr.operands)):
        subject = f"{with_article(instr.opcode)} of arrays"
        message = f"{instr.name}: {subject} can't run inside a loop over elements"
        raise HloError("HLO181", message, instr.span)


def _variables(body: Body, instr: Instruction, values: Values | None = None) -> Values:
    """C variables for the leaves of a value; tokens have none."""
    variables: list[Expr] = []
    for k, (_, shape) in enumerate(instr.shape.leaves()):
        if shape.is_array:
            initial = values[k] if values else None
            variables.append(body.variable(wide(shape.element_type), instr.name, initial))
        else:
            variables.append(NOTHING)
    return tuple(variables)


elements.define_all(
    {
        "parameter": BetweenKernels(),
        "tuple": BetweenKernels(write_tuple),
        "get-tuple-element": BetweenKernels(),
        "after-all": BetweenKernels(lambda *_: ()),
        "call": BetweenKernels(write_call),
        "fusion": BetweenKernels(write_call),
        "conditional": BetweenKernels(write_conditional),
        "while": BetweenKernels(write_while),
        "copy-start": BetweenKernels(),
        "copy-done": BetweenKernels(),
    }
)


def _scalars_of(shape: Shape) -> bool:
    """Whether a value consists of scalars, so that C variables can hold it."""
    return all(s.rank == 0 and (s.is_array or s.is_token) for _, s in shape.leaves())
