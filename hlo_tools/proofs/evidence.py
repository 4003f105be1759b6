"""Collects the evidence for a rule: proofs, and trials on random values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hlo_tools.generate.trials import WrongShapeError, broken_by, trials
from hlo_tools.proofs.cases import Counterexample
from hlo_tools.proofs.prove import FULL, ProofEffort, RefutedError, prove
from hlo_tools.proofs.record import Evidence, today
from optimizer.rewriting.version import version

if TYPE_CHECKING:
    from optimizer.rewriting.rule import Rule

TRIALS: Final = 100


def gather_evidence(rule: Rule, effort: ProofEffort = FULL, count: int = TRIALS) -> Evidence:
    """Try a rule on random values, and prove the cases that can be proved.

    Raises
    ------
    RefutedError
        if it does not keep its promise.
    """
    tried = 0
    try:
        for trial in trials(rule, count):
            change = broken_by(rule, trial)
            if change is not None:
                raise RefutedError(
                    Counterexample(trial.before, trial.after, trial.arguments, change)
                )
            tried += 1
    except WrongShapeError as error:
        raise RefutedError(error) from error
    return Evidence(version(rule), tried, today(), prove(rule, effort))
