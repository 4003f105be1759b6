"""One driver for passes that rewrite at each site: plan what the log allows, then rebuild.

    def visit(computation: Computation, rewrites: SiteRewrites) -> None:
        for instr in computation.instructions:
            if (new := simpler(instr)) is not None:
                rewrites.add("simplify", instr, new)

    return rewrite_sites(module, log, visit)

A pass that looks at instructions alone needs but a function of one: `replace_each`. Rules are
applied by an engine of their own, `optimizer.rewriting.rewrite`, again and again until none fits.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hlo.build import instruction
from hlo.names import NameSupply
from hlo.opcode import TUPLES
from hlo.types.shape import row_major
from hlo.walk import Plan, asynchronous, rebuild, rebuild_module
from optimizer.identity import reads_layouts
from optimizer.log import NOTHING_BOUND

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import HasSourceLine, Log

    Change = Callable[[Computation], Computation]
    Over = Callable[[Module, Change], Module]
    Visit = Callable[[Computation, "SiteRewrites"], None]

# What their result is follows from its layout, or its layout from their operands.
AS_DECLARED = TUPLES | {"bitcast"}


@dataclass
class SiteRewrites:
    """The rewrites of one computation that the log allows.

    Attributes
    ----------
    plan : which instruction takes the place of which.
    """

    log: Log
    plan: Plan = field(default_factory=dict[Any, Any])

    def add(
        self,
        word: str,
        old: Instruction,
        *new: Instruction,
        plan: Plan | None = None,
        by: HasSourceLine | Callable[..., Any] | None = None,
        bindings: Mapping[str, Any] = NOTHING_BOUND,
        mixed: bool = False,
    ) -> bool:
        """Plan a rewrite, if the log allows it.

        Parameters
        ----------
        word : what the rewrite is called.
        old, new, by, bindings : as of `Log.rewrite`.
        plan : who takes whose place, if not just the last new instruction the old one's.
        mixed : the rewrite also holds of an instruction that mixes floats of several precisions.

        Returns
        -------
        bool
            whether it is planned.
        """
        ask = self.log.allow if mixed else self.log.rewrite
        allowed = ask(word, old, *new, by=by, bindings=bindings)
        if allowed:
            self.plan |= {old: new[-1]} if plan is None else plan
        return allowed


def rewrite_sites(
    module: Module,
    log: Log,
    visit: Visit,
    over: Over = rebuild_module,
    finish: Change | None = None,
) -> Module:
    """A module with the rewrites that a visit of each computation finds.

    Parameters
    ----------
    visit : adds the rewrites of a computation, whose callees are rewritten already.
    over : which computations are visited: all, or with `rebuild_unfused` those that are no kernels.
    finish : is done to each computation with rewrites; without it, dead instructions are left to
        dead code elimination.
    """
    return over(module, lambda c: rewrite_computation(c, log, visit, finish))


def rewrite_computation(
    computation: Computation, log: Log, visit: Visit, finish: Change | None = None
) -> Computation:
    """A computation with the rewrites that a visit of it finds: see `rewrite_sites`."""
    rewrites = SiteRewrites(log)
    visit(computation, rewrites)
    if not rewrites.plan:
        return computation
    rebuilt = rebuild(computation, in_old_layouts(computation, rewrites.plan))
    return finish(rebuilt) if finish else rebuilt


def in_old_layouts(computation: Computation, plan: Plan) -> Plan:
    """A plan whose new values lie in memory as the old ones, where bitcasts may read them.

    What is computed anew can be laid out in any way. A value that is there already, or that others
    of the new ones need, is copied.
    """
    if not reads_layouts(computation):
        return plan
    fixed = set(computation.instructions)
    stack = list(plan.values())
    while stack:
        below = [o for o in stack.pop().operands if o not in fixed]
        fixed.update(below)
        stack += below
    names = NameSupply(instr.name for instr in computation.instructions)

    def laid_out(old: Instruction, new: Instruction) -> Instruction:
        if not old.shape.is_array or new.shape.memory_order == old.shape.memory_order:
            return new
        layout = new.shape.layout or row_major(new.shape.rank)
        order = old.shape.memory_order[::-1]
        shape = new.shape.with_layout(replace(layout, minor_to_major=order))
        if new not in fixed and new.opcode not in AS_DECLARED:
            return new.with_(shape=shape)
        copied = instruction("copy", (new,), name=names.unique(f"{old.name}.copy"))
        return copied.with_(shape=shape)

    return {old: laid_out(old, new) for old, new in plan.items()}


def replace_each(
    module: Module,
    log: Log,
    word: str,
    replacement: Callable[[Instruction], Instruction | None],
    over: Over = rebuild_module,
) -> Module:
    """A module in which instructions are replaced, each by itself.

    Parameters
    ----------
    word : what a rewrite is called.
    replacement : of an instruction, with its name and annotations; None leaves it alone.
    over : as of `rewrite_sites`.
    """

    def visit(computation: Computation, rewrites: SiteRewrites) -> None:
        for instr in computation.instructions:
            new = replacement(instr)
            if new is not None:
                rewrites.add(word, instr, new, by=replacement)

    return rewrite_sites(module, log, visit, over)


def rebuild_unfused(module: Module, change: Change) -> Module:
    """Change each computation, callees first, but none that is one operation to its caller.

    A fused computation is a kernel already, and what runs asynchronously is one instruction.
    """
    names = {computation.name for computation in asynchronous(module)}
    names |= {
        callee.name
        for computation in module.computations
        if "fusion" in computation.opcodes
        for instr in computation.instructions
        if instr.opcode == "fusion"
        for callee in instr.called
    }
    return rebuild_module(module, lambda c: c if c.name in names else change(c))
