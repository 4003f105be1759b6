"""An observer that proves each pass, and the lines that it writes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hlo.wording import counted
from hlo_tools.arguments import at_least
from hlo_tools.proofs.modules import (
    USUAL,
    ModuleProof,
    ProofLimits,
    prove_modules,
)
from hlo_tools.values.show import spell_in_a_line
from interpreter.numbers.compare import BITS
from optimizer.log import Silent
from optimizer.observers import devices_for, keeps_values, promise_of
from optimizer.passes import Fixpoint, Pipeline

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator

    from hlo.instruction import Module
    from hlo_tools.arguments import Parser
    from optimizer.log import Event, Log, Pass

# So many rewrites that are not proved are shown.
MOST_SHOWN = 8


def add_proof_options(parser: Parser) -> None:
    """The options that `chosen_limits` looks at."""
    parser.add_argument(
        "--proof-steps",
        type=at_least(1),
        default=USUAL.steps,
        metavar="N",
        help=f"steps of the solver for each question (default {USUAL.steps})",
    )
    parser.add_argument(
        "--proof-elements",
        type=at_least(1),
        default=USUAL.elements,
        metavar="N",
        help=f"different elements of arrays that a proof may look at (default {USUAL.elements})",
    )
    parser.only_with(("--proof-steps", "--proof-elements"), "--prove")


def chosen_limits(arguments: Namespace) -> ProofLimits:
    """The effort that a proof may take."""
    return ProofLimits(steps=arguments.proof_steps, elements=arguments.proof_elements)


@dataclass
class ProvePasses(Silent):
    """Proves every pass that changed something, and tells it.

    Attributes
    ----------
    write : takes a line.
    proofs : of the passes so far, by name.
    events : of the passes that run, the innermost last.
    """

    write: Callable[[str], object]
    limits: ProofLimits = USUAL
    proofs: list[tuple[str, ModuleProof]] = field(default_factory=list[Any])
    events: list[list[Event]] = field(default_factory=list[Any])

    @property
    def refuted(self) -> bool:
        """Whether a pass is wrong."""
        return any(proof.failure is not None for _, proof in self.proofs)

    def before(self, pass_: Pass, module: Module, log: Log) -> None:  # noqa: ARG002
        """Begin to collect the rewrites of a pass."""
        self.events.append([])

    def event(self, event: Event, log: Log) -> None:  # noqa: ARG002
        """Collect a rewrite."""
        self.events[-1].append(event)

    def after(self, pass_: Pass, before: Module, after: Module, log: Log) -> None:  # noqa: ARG002
        """Prove the pass, if it is no group of passes."""
        events = self.events.pop()
        if after is before or isinstance(pass_, Pipeline | Fixpoint):
            return
        if not keeps_values(pass_):
            self.write(f"{pass_.name}: not compared, since it makes the module compute another")
            return
        proof = prove_modules(
            before, after, events, promise_of(pass_), self.limits, devices_for(pass_)
        )
        self.proofs.append((pass_.name, proof))
        for line in report(pass_.name, proof):
            self.write(line)

    def total(self) -> str:
        """A line about all passes."""
        every = [rewrite for _, proof in self.proofs for rewrite in proof.every]
        proof = ModuleProof(
            every, failure=next((p.failure for _, p in self.proofs if p.failure), None)
        )
        proof.sampled = all(p.sampled for _, p in self.proofs if p.left)
        return f"{counted(len(self.proofs), 'pass')}: {summary(proof)}"


def report(name: str, proof: ModuleProof) -> Iterator[str]:
    """The lines about a pass: the answer, rewrites without a proof, arguments if it is wrong."""
    yield f"{name}: {summary(proof)}"
    yield from (f"    {rewrite.text}: {rewrite.why}" for rewrite in proof.left[:MOST_SHOWN])
    if len(proof.left) > MOST_SHOWN:
        yield f"    ... and {len(proof.left) - MOST_SHOWN} more"
    if proof.failure is not None:
        yield f"    {proof.failure.message}"
        for parameter, value in zip(
            proof.failure.before.entry.parameters, proof.failure.arguments, strict=True
        ):
            yield f"    %{parameter.name} = {spell_in_a_line(value)}"


def summary(proof: ModuleProof) -> str:
    """The answer in a line."""
    if proof.failure is not None:
        return "refuted"
    count, left = counted(len(proof.every), "rewrite"), len(proof.left)
    be = "was" if left == 1 else "were"
    if not proof.every:
        return "proved"
    if left:
        run = f"which {be} sampled" if proof.sampled else "which could not be run either"
        none = left == len(proof.every)
        return f"{'no proof of' if none else f'proved but for {left} of'} {count}, {run}"
    weaker = Counter(str(rewrite.promise) for rewrite in proof.every if rewrite.promise != BITS)
    words = "".join(f", {n} of them as {promise} promises" for promise, n in sorted(weaker.items()))
    return f"proved ({count}{words})"
