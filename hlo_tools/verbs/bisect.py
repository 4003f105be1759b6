"""Find the rewrite that makes the optimizer's result wrong.

The module is run by the interpreter before and after the passes. If the values differ by more than
the tolerance, the fewest rewrites after which they do are found by bisection: the last of them is
shown, and the exit status is 1. `hlo opt --fuel N` does rewrites 1 to N, and `--skip N` leaves out
that one.

A rewrite whose promise is weaker than BITS is judged where it is done: if the new instruction's
value is the old one's as far as it promises, the rewrite is listed, and the search goes on behind
it. What rounding becomes later in the module is no mistake of the rewrite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hlo.wording import counted
from hlo.write.print import print_instruction
from hlo_tools.files import read_sound_module
from hlo_tools.inputs import add_input_options, make_inputs
from hlo_tools.pipelines import add_pipeline_options, chosen_pipeline
from hlo_tools.tolerances import add_tolerance_options, chosen_tolerance, spell_tolerance
from interpreter import evaluate
from interpreter.numbers.compare import BITS, Difference, Promise, compare
from optimizer.catalogue import ALL_RULE_SETS
from optimizer.log import Event, Log, Pass, Silent
from optimizer.observers import Trace, promise_of

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from hlo.instruction import Module
    from hlo_tools.arguments import Parser
    from interpreter.engine.frame import Event as Evaluated

Inputs = list[list[Any]]  # the arguments of each device
RIGHT, WRONG = 0, 1


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument("file", metavar="FILE", help="HLO text, or - for standard input")
    add_pipeline_options(parser)
    add_input_options(parser)
    add_tolerance_options(parser)


def run(arguments: Namespace) -> int:
    """Look for the wrong rewrite, and show it."""
    module = read_sound_module(arguments.file)
    inputs = make_inputs(module, arguments)
    tolerance = chosen_tolerance(arguments)
    search = Search(module, chosen_pipeline(arguments), inputs)
    blamed = search.blamed(tolerance)
    for rewrite in search.kept:
        print(f"{rewrite.title}: it keeps its promise, {rewrite.promise}")
    count = len(search.events)
    if blamed is None:
        told = "no rewrite breaks its promise" if search.kept else "equal"
        print(f"{told} after {counted(count, 'rewrite')}, {spell_tolerance(tolerance)}")
        return RIGHT
    event = blamed.event
    print(f"rewrite {event.number} of {count} makes it wrong: {blamed.difference}")
    print(f"pass {'.'.join(event.path)}, rule {event.rule}")
    print(f"- {print_instruction(event.old)}")
    for instr in event.new:
        print(f"+ {print_instruction(instr)}")
    return WRONG


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A rewrite after which the module's value differs, and its promise."""

    event: Event
    promise: Promise
    difference: Difference | None

    @property
    def title(self) -> str:
        """Its number, pass and rule."""
        return f"rewrite {self.event.number}, {'.'.join(self.event.path)}: {self.event.rule}"


class Promises(Silent):
    """Keeps what the passes that ran promise, by name."""

    def __init__(self) -> None:
        self.of_passes: dict[str, Promise] = {}
        self.of_rules = {rule.name: rule.promise for rules in ALL_RULE_SETS for rule in rules}

    def before(self, pass_: Pass, module: Module, log: Log) -> None:  # noqa: ARG002
        """Keep one."""
        self.of_passes[pass_.name] = promise_of(pass_)

    def of(self, event: Event) -> Promise:
        """What a rewrite promises: its rule, or its pass if it is no rule's."""
        return self.of_rules.get(event.rule, self.of_passes[event.path[-1]])


class Search:
    """A module with the rewrites that passes do in it.

    Attributes
    ----------
    events : the rewrites in order.
    kept : those that changed the module's value, each no further than it promises.
    """

    def __init__(self, module: Module, passes: Pass, inputs: Inputs) -> None:
        self.module, self.passes, self.inputs = module, passes, inputs
        self.promises, trace = Promises(), Trace()
        self.last = Log(observers=[trace, self.promises]).run(passes, module)
        self.events = trace.events
        self.kept: list[Rewrite] = []

    def after(self, fuel: int) -> Module:
        """The module after so many rewrites."""
        return Log(fuel=fuel).run(self.passes, self.module)

    def blamed(self, tolerance: Promise) -> Rewrite | None:
        """The first rewrite that makes the module's value wrong by itself; None if none does."""
        done, before = 0, self.module
        while True:
            want = evaluate(before, per_device=self.inputs)

            def difference(module: Module, want: list[Any] = want) -> Difference | None:
                return first_difference(module, self.inputs, want, tolerance)

            if difference(self.last) is None:
                return None
            done = fewest(done, len(self.events), lambda n: difference(self.after(n)) is not None)
            event, made = self.events[done - 1], self.after(done)
            rewrite = Rewrite(event, self.promises.of(event), difference(made))
            if not self.keeps_promise(rewrite, self.after(done - 1), made):
                return rewrite
            self.kept.append(rewrite)
            before = made

    def keeps_promise(self, rewrite: Rewrite, before: Module, after: Module) -> bool:
        """Whether a new instruction's value is that of the old one, as far as is promised."""
        event, promise = rewrite.event, rewrite.promise
        if promise == BITS or not event.new:
            return False
        old = first_values(before, event.old.name, self.inputs)
        new = first_values(after, event.new[-1].name, self.inputs)
        if not old or len(old) != len(new):
            return False
        return all(
            compare(value, want, promise) is None for value, want in zip(new, old, strict=True)
        )


def first_values(module: Module, name: str, inputs: Inputs) -> list[Any]:
    """The first value of an instruction on each device; later turns of a loop read other values."""
    found: dict[tuple[int, int], Any] = {}

    def observe(event: Evaluated) -> None:
        if event.instr.name == name:
            found.setdefault((event.device.replica, event.device.partition), event.value)

    evaluate(module, per_device=inputs, observe=observe)
    return [found[device] for device in sorted(found)]


def first_difference(
    module: Module, inputs: Inputs, want: Any, tolerance: Promise
) -> Difference | None:
    """How a module's value differs from another one."""
    for got, expected in zip(evaluate(module, per_device=inputs), want, strict=True):
        if difference := compare(got, expected, tolerance):
            return difference
    return None


def fewest(right: int, wrong: int, is_wrong: Callable[[int], bool]) -> int:
    """The least number behind `right` from which on something is wrong."""
    while wrong - right > 1:
        middle = (right + wrong) // 2
        right, wrong = (right, middle) if is_wrong(middle) else (middle, wrong)
    return wrong
