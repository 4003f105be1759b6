"""Error codes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """The meaning of an error code.

    Attributes
    ----------
    title : a few words, lower case, without a full stop.
    explanation : why it is an error and what to do about it, in a few sentences.
    """

    title: str
    explanation: str
