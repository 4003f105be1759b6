"""Wrong passes: all that `planted_rules` and `planted_changes` have, and some of their own."""

from dataclasses import replace
from typing import Any

from planted_changes import CHANGES, Change, back_and_forth
from planted_rules import RULES

from hlo.instruction import Module
from hlo.walk import names_of, rebuild, rebuild_module
from hlo_tools.own_passes import Applied
from interpreter.numbers.compare import BITS, Promise
from optimizer.cleanup.dce import Dce
from optimizer.log import Log
from optimizer.rewriting.rule import RuleSet


class Planted:
    """A pass that replaces instructions by what a function makes of them, whatever that means."""

    def __init__(self, change: Change, promise: Promise = BITS, name: str = "") -> None:
        self.name = name or change.__name__
        self.change, self.promise = change, promise

    def run(self, module: Module, log: Log) -> Module:
        names = names_of(module)

        def rewrite(computation):
            plan = {}
            for instr in computation.instructions:
                new = self.change(instr)
                if new is not None and new is not instr and log.rewrite(self.name, instr, new):
                    fresh = new.name == new.opcode
                    plan[instr] = new.with_(name=names.unique(new.opcode)) if fresh else new
            return rebuild(computation, plan)

        return rebuild_module(module, rewrite)


class Restless:
    """A pass that is never wrong, but never done either."""

    name = "restless"

    def run(self, module, log):
        def rewrite(computation):
            plan = {i: new for i in computation.instructions if (new := back_and_forth(i))}
            plan = {i: new for i, new in plan.items() if log.rewrite("iteration", i, new)}
            return rebuild(computation, plan)

        return rebuild_module(module, rewrite)


class Thirsty:
    """Dead code elimination that needs no fuel."""

    name = "thirsty"

    def run(self, module, log):
        return Dce().run(module, Log())


class Forgetful:
    """CSE that takes instructions with other attributes for equal."""

    name = "forgetful"

    def run(self, module, log):
        def change(computation):
            plan, first = {}, {}
            for instr in computation.instructions:
                if not instr.operands:
                    continue
                kept = first.setdefault((instr.opcode, instr.operands, instr.shape), instr)
                if kept is not instr and log.rewrite("equal", instr, kept):
                    plan[instr] = kept
            return rebuild(computation, plan)

        return rebuild_module(module, change)


class Careless:
    """CSE that takes equal values for one, even where a bitcast reads how they lie in memory."""

    name = "careless"

    def run(self, module, log):
        def change(computation):
            plan, first = {}, {}
            for instr in computation.instructions:
                if not instr.row.elementwise or instr.called:
                    continue
                operands = tuple(plan.get(o, o) for o in instr.operands)
                key = instr.opcode, operands, instr.attrs, instr.shape.without_layout
                kept = first.setdefault(key, instr)
                if kept is not instr and log.rewrite("equal", instr, kept):
                    plan[instr] = kept
            return rebuild(computation, plan)

        return rebuild_module(module, change)


class Boastful:
    """It says that it has changed something, and has not."""

    name = "boastful"

    def run(self, module, log):
        return replace(module)


def all_planted() -> list[Any]:
    """All wrong passes."""
    return [
        *(Applied(wrong.name, RuleSet([wrong])) for wrong in RULES),
        *(Planted(change, promise) for change, promise in CHANGES),
        *(Restless(), Thirsty(), Forgetful(), Careless(), Boastful()),
    ]


PLANTED = {wrong.name: wrong for wrong in all_planted()}
