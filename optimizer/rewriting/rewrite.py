"""The engine of rewriting by rules: sweeps over each computation until no rule applies any more.

A sweep goes through a computation once, operands first, and builds the new one as it goes: each
instruction gets what became of its operands, and then the first rule that fits and whose guard
holds replaces it. So an instruction always sees operands that are rewritten already, a chain of
a thousand adds folds in one sweep, and no decision ever rebuilds anything twice.

What a rewrite changes is rebuilt with all that uses it, to the end of the computation. Rules see
only a few levels of that: where these are alike those of an instruction that no rule fitted, no
rule fits now.

Every replaced instruction is equal, as far as its rule promises, to what replaces it. That holds
whatever else a sweep decides, so decisions cannot disturb each other.

As in XLA, an instruction with control dependencies is never replaced, and a new instruction takes
over the annotations (metadata, sharding) of the one that it replaces.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from hlo.effects import ordered, without_dead
from hlo.errors.error import HloError
from hlo.walk import names_of
from interpreter.numbers.compare import BITS
from optimizer.identity import reads_layouts
from optimizer.rewriting.adopting import adopted
from optimizer.rewriting.memo import FormerInstructions, Settled
from optimizer.rewriting.rule import touches_floats
from optimizer.rewriting.sites import rebuild_unfused
from optimizer.rewriting.term import CONSTANT_OPCODES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply
    from optimizer.log import Log
    from optimizer.rewriting.guard import Match
    from optimizer.rewriting.rule import Rule, RuleSet

# XLA's simplifier gives up after so many rounds too, with a warning; no sound rules need as many.
SWEEPS = 50
# A computation of n instructions may grow to MOST + GROWTH * n: rules that copy their variables can
# double it with each sweep.
MOST, GROWTH = 1000, 100


def rewrite(
    module: Module,
    rules: RuleSet,
    log: Log,
    *,
    strict: bool = False,
    layout_sensitive: bool = False,
) -> Module:
    """Apply rules everywhere, but in fused computations, until none applies any more.

    Parameters
    ----------
    strict : only rewrites that keep every bit.
    layout_sensitive : a replacement must have the layout of what it replaces, as it must anyway
        beside a bitcast.

    Returns
    -------
    Module
        the same object where no rule applies.

    Raises
    ------
    HloError
        HLO159 if a computation grows beyond a multiple of its size.
    """
    rewriter = Rewriter(rules, log, names_of(module), strict, layout_sensitive)

    def change(computation: Computation) -> Computation:
        if computation in rewriter.settled(computation).computations:
            return computation
        after = rewriter.settle(computation) if rules.may_fit(computation) else computation
        rewriter.settled(after).computations.add(after)
        return after

    return rebuild_unfused(module, change)


class Rewriter:
    """Rules, how to apply them, and a supply of names."""

    def __init__(
        self,
        rules: RuleSet,
        log: Log,
        names: NameSupply,
        strict: bool = False,
        layout_sensitive: bool = False,
    ) -> None:
        self.rules, self.log, self.names = rules, log, names
        self.strict, self.layout_sensitive = strict, layout_sensitive
        self.applied = Counter[str]()  # by the name of a rule, how often it rewrote

    def keeps_layouts(self, computation: Computation) -> bool:
        """Whether a replacement in a computation must have the layout of the old instruction."""
        return self.layout_sensitive or reads_layouts(computation)

    def settled(self, computation: Computation) -> Settled:
        """The fixpoint for such computations; one without its last bitcast is of another kind."""
        settled, layout_sensitive = self.log.settled, self.keeps_layouts(computation)
        key = (self.rules, self.strict, layout_sensitive)
        if key not in settled:
            # Where no rule fits if layouts may change, none fits if they must stay.
            settled[key] = settled.get((self.rules, self.strict, False), Settled()).copy()
        return settled[key]

    def settle(self, computation: Computation) -> Computation:
        """Sweep over a computation until nothing changes.

        Raises
        ------
        HloError
            HLO159 if it grows beyond a multiple of its size.
        """
        before = len(computation.instructions)
        most = MOST + GROWTH * before
        for _ in range(SWEEPS):
            swept = Sweep(self, computation).run()
            if swept is computation:
                break
            computation = without_dead(swept)
            if len(computation.instructions) > most:
                (name, _), *_ = self.applied.most_common(1)
                message = f"{name}: the rule makes more than {most:,} instructions of {before:,}"
                raise HloError("HLO159", f"{message} in %{computation.name}", computation.span)
        return computation

    def replacement(
        self,
        instr: Instruction,
        uses: Mapping[Instruction, int],
        is_known: Callable[[Instruction], bool],
        one_use_answers: dict[str, bool],
        layout_sensitive: bool,
        memo: dict[str, Any],
    ) -> tuple[Rule, Match, Instruction] | None:
        """The first rule that applies, its match, and its replacement of an instruction.

        Parameters
        ----------
        is_known : whether an instruction is there already.
        one_use_answers : is filled; see `optimizer.rewriting.guard.Match`, also for `memo`.
        layout_sensitive : whether the replacement must have the instruction's layout.
        """
        matches = self.rules.matches(instr, uses, one_use_answers, self.names, memo)
        for rule, match, pattern in matches:
            if self.strict and rule.promise != BITS and touches_floats(pattern, instr):
                continue
            new = rule.replacement(match)
            if new is None or new is instr or not new.shape.compatible(instr.shape):
                continue
            if not is_known(new) and new.opcode != "bitcast":
                # A value that is computed anew can be laid out as the one that it replaces.
                new = new.with_(shape=instr.shape)
            fits = new.shape == instr.shape or not layout_sensitive
            if fits and shardings_agree(new, instr, known=is_known(new)):
                return rule, match, new
        return None


def shardings_agree(new: Instruction, old: Instruction, *, known: bool) -> bool:
    """Whether one instruction can stand for another as far as shardings tell.

    Parameters
    ----------
    known : whether it is there already; one that is new gets the sharding of the old one.
    """
    before, after = old.annotations.sharding, new.annotations.sharding
    return before is None or before == after or (after is None and not known)


def forgets_its_size(instr: Instruction) -> bool:
    """Whether no operand tells its run-time sizes: `x - x` knows how large it is, 0 does not."""
    known = any(operand.shape.is_dynamic for operand in instr.operands)
    return instr.opcode in CONSTANT_OPCODES and instr.shape.is_dynamic and not known


class Sweep:
    """One walk through a computation.

    Attributes
    ----------
    became : the replacements of instructions of the old computation that changed.
    position : the number of the instruction that is visited.
    tied : instructions with control dependencies, which stay as they are.
    layout_sensitive : whether replacements must have the layouts of what they replace.
    """

    def __init__(self, rewriter: Rewriter, computation: Computation) -> None:
        self.rewriter, self.computation = rewriter, computation
        self.settled = rewriter.settled(computation)
        self.former = FormerInstructions(self.settled, rewriter.rules)
        self.became: dict[Instruction, Instruction] = {}
        self.position = 0
        self.tied = ordered(computation)
        self.layout_sensitive = rewriter.keeps_layouts(computation)
        self.memo: dict[str, Any] = {}

    # Most walks find nothing to rewrite, and ask for none of these.
    @cached_property
    def order(self) -> dict[Instruction, None]:
        """The instructions of the new computation so far."""
        return dict.fromkeys(self.computation.instructions[: self.position])

    @cached_property
    def named(self) -> dict[str, Instruction]:
        """The instructions of the new computation so far, by name."""
        return {instr.name: instr for instr in self.order}

    @cached_property
    def uses(self) -> dict[Instruction, int]:
        """The number of uses of each instruction; being the root counts as one."""
        used = [i.operands for i in self.computation.instructions]
        once = [o if len(o) < 2 else set(o) for o in used]
        return Counter(chain([self.computation.root], chain.from_iterable(once)))

    def run(self) -> Computation:
        """The computation after the walk; the same object if nothing changed."""
        # Tables are kept up to date from their first use on.
        became, tied, kept_up = self.became, self.tied, vars(self)
        roots = self.rewriter.rules.roots
        for position, old in enumerate(self.computation.instructions):
            self.position = position
            instr = self.updated(old) if became else old
            if instr.opcode in roots and old not in tied and not self.is_settled(instr):
                instr = self.rewritten(instr)
            if instr is not old:
                became[old] = instr
            if "order" in kept_up:
                self.order[instr] = None
            if "named" in kept_up:
                self.named[instr.name] = instr
        if not became:
            return self.computation
        root = became.get(self.computation.root, self.computation.root)
        return replace(self.computation, instructions=tuple(self.order), root=root)

    def is_known(self, instr: Instruction) -> bool:
        """Whether an instruction is there already."""
        return instr in self.order

    def is_settled(self, instr: Instruction) -> bool:
        """Whether no rule fitted before, nor would one now that other instructions use others."""
        answers = self.former.answers(instr)
        if not answers:
            return answers is not None
        uses, named = self.uses, self.named
        return all((uses.get(named[n], 1) == 1) is once for n, once in answers.items())

    def updated(self, old: Instruction) -> Instruction:
        """The instruction over its operands' replacements; it keeps its name."""
        became = self.became
        unchanged, predecessors = became.keys().isdisjoint, old.control_predecessors
        if unchanged(old.operands) and (not predecessors or unchanged(predecessors)):
            return old
        operands = tuple([became.get(o, o) for o in old.operands])
        predecessors = predecessors and tuple([became.get(p, p) for p in predecessors])
        new = old.rewired(operands, predecessors, old.called)
        self.uses[new] = self.uses.get(old, 0)
        return new

    def rewritten(self, instr: Instruction) -> Instruction:
        """The replacement by the first rule that applies; the instruction itself if none does."""
        answers: dict[str, bool] = {}
        replacement = self.rewriter.replacement(
            instr, self.uses, self.is_known, answers, self.layout_sensitive, self.memo
        )
        if replacement is None:
            self.settled.without_rule(instr, answers)
            return instr
        rule, match, root = replacement
        known = root in self.order
        *fresh, new = adopted(root, instr, self.order, self.rewriter.names, divided=True)
        instructions = [] if known else [*fresh, new]
        if any(map(forgets_its_size, instructions)):
            self.settled.without_rule(instr, answers)
            return instr
        log = self.rewriter.log
        if not log.rewrite(rule.name, instr, *fresh, new, by=rule, bindings=match.bindings):
            return instr
        self.rewriter.applied[rule.name] += 1
        self.order.update(dict.fromkeys(instructions))
        # Users of the old one will use the new one. Operands of the old one keep their count until
        # the next sweep, so that a guard may see too many uses, but never too few.
        self.uses[new] = self.uses.get(new, 0) + self.uses.get(instr, 0)
        for instruction in instructions:
            for operand in set(instruction.operands):
                self.uses[operand] = self.uses.get(operand, 0) + 1
        return new
