"""A decision on one producer, and why it fell out so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FusionDecision:
    """The decision to compute an instruction in the kernels of its users.

    Attributes
    ----------
    fused : what was decided.
    rule : which rule decided, a word.
    text : the reason with its numbers, a sentence.
    """

    fused: bool
    rule: str
    text: str

    def __bool__(self) -> bool:
        """Whether it is fused."""
        return self.fused

    def __str__(self) -> str:
        """One line."""
        return f"{'fused' if self.fused else 'not fused'} ({self.rule}): {self.text}"


@dataclass(frozen=True, slots=True)
class Priority(FusionDecision):
    """A decision by a model of time.

    Attributes
    ----------
    saved : seconds.
    """

    saved: float
