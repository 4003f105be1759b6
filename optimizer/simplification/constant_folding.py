"""Evaluates instructions all of whose operands are constant, by the interpreter itself.

    ROOT s = f32[] add(f32[] constant(1), f32[] constant(2))      ROOT s = f32[] constant(3)

So nobody writes what an opcode means twice. What would only make the module larger stays: a
broadcast or an iota is shorter than the array that it makes. But what is computed from a broadcast
constant may be short again: the number of ones in each window of an average pooling.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.attributes import Constant
from hlo.build import module as module_of
from hlo.effects import has_effect, ordered
from hlo.errors.error import HloError
from hlo.instruction import Computation
from hlo.opcode import COMPILE_TIME, CONTROL, GIVEN, IDENTITIES, TUPLES
from hlo.verify import trust
from hlo.walk import names_of, post_order
from interpreter.engine.evaluate import evaluate
from optimizer.passes import register
from optimizer.rewriting.make import constant
from optimizer.rewriting.sites import SiteRewrites, rewrite_sites
from optimizer.rewriting.term import CONSTANT_OPCODES

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from optimizer.log import Log

# These are shorter than their results, or are not for the compiler to decide.
_STAYS = (
    GIVEN
    | COMPILE_TIME
    | TUPLES
    | CONTROL
    | IDENTITIES
    | {"bitcast", "broadcast", "custom-call", "fusion"}
)
# A loop, in a computation that is applied, may take so many iterations.
MAX_ITERATIONS = 1_000


@register
@dataclass(frozen=True)
class ConstantFolding:
    """Replaces instructions on constants by their value.

    Attributes
    ----------
    max_elements : of operands and result; XLA's limit is 45 million.
    max_growth : how many more elements than its operands a result may have.
    """

    name = "constant_folding"
    xla = "xla/hlo/transforms/simplifiers/hlo_constant_folding.cc"
    max_elements: int = 45_000_000
    max_growth: int = 64

    def run(self, module: Module, log: Log) -> Module:
        """The module without arithmetic on constants."""
        names = names_of(module)

        def visit(computation: Computation, rewrites: SiteRewrites) -> None:
            tied = ordered(computation)
            # Nearly no instruction is computed from nothing but these.
            constants: set[Instruction] = set()
            for instr in computation.instructions:
                if instr.opcode in CONSTANT_OPCODES:
                    constants.add(instr)
                if not constants.issuperset(instr.operands):
                    continue
                operands = [after(rewrites.plan, o) for o in instr.operands]
                if not self.folds(instr, operands) or instr in tied or has_effect(instr):
                    continue
                new = folded(instr, operands)
                if new is not None and rewrites.add("fold", instr, new):
                    rewrites.plan[instr] = new.with_(
                        name=names.unique("constant"), annotations=instr.annotations
                    )
                    constants.add(instr)

        return rewrite_sites(module, log, visit)

    def folds(self, instr: Instruction, operands: list[Instruction]) -> bool:
        """Whether an instruction is one that is folded."""
        sources = list(map(source, operands))
        if not sources or not all(o.opcode == "constant" and o.shape.is_array for o in sources):
            return False
        if instr.opcode in _STAYS or not instr.row.pure:
            return False
        if not instr.shape.is_array or instr.shape.is_dynamic:
            return False
        if any(Constant.of(o).literal.elided for o in sources):
            return False
        by_rules = instr.row.elementwise or "movement" in instr.row.traits
        # Beside an array of different elements, rules leave a broadcast where it is.
        beside = instr.row.elementwise and any(
            o.opcode == "constant" and o.shape.rank for o in operands
        )
        if by_rules and sources != operands and not beside:
            return False
        read, new_size = sum(o.shape.size for o in operands), instr.shape.size
        known_size = sum(o.shape.size for o in sources)
        return max(read, new_size) <= self.max_elements and new_size <= known_size + self.max_growth


def after(plan: dict[Instruction, Instruction], operand: Instruction) -> Instruction:
    """An operand, with the plan carried out for it and for the operand of a broadcast."""
    operand = plan.get(operand, operand)
    if operand.opcode != "broadcast":
        return operand
    (spread,) = operand.operands
    return operand.with_(operands=(plan[spread],)) if spread in plan else operand


def source(operand: Instruction) -> Instruction:
    """The constant that a broadcast spreads; other instructions as they are."""
    return operand.operands[0] if operand.opcode == "broadcast" else operand


def folded(instr: Instruction, operands: list[Instruction]) -> Instruction | None:
    """The constant that an instruction computes; None if the interpreter can't tell.

    Parameters
    ----------
    operands : constants, and broadcasts of such.
    """
    alone = instr.with_(operands=tuple(operands), control_predecessors=())
    program = Computation("fold", tuple(post_order(alone)), alone)
    try:
        value = evaluate(trust(module_of(program)), max_iterations=MAX_ITERATIONS)
    except HloError:
        return None
    return constant(value).with_(shape=instr.shape)
