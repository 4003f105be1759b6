"""The treatment of subnormal numbers in compiled code, for every emitter.

Subnormal numbers are those between 0 and the least normal number of a type. Where they are flushed,
results that would be subnormal are zeros, and subnormal operands count as zeros; an operation that
only moves an element, or changes its sign, keeps it. So computes XLA's code for CPUs, and so does
ours by default: many processors take a hundred times as long for an operation on such a number.
XLA's code for GPUs keeps them, for they cost nothing there, unless it is asked not to. The
interpreter keeps them, as IEEE 754 says.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal, get_args

from hlo.errors.error import HloError, did_you_mean
from hlo.support.xla_flags import has_flag

if TYPE_CHECKING:
    from collections.abc import Generator

Subnormals = Literal["flush", "keep"]
WORDS: Final[tuple[Subnormals, ...]] = get_args(Subnormals)
# What to do with subnormal numbers where nobody says it.
VARIABLE: Final = "PYHLO_SUBNORMALS"


def chosen_subnormals(option: str | None, usual: Subnormals = "flush") -> Subnormals:
    """The treatment that an option names, or else the environment.

    Parameters
    ----------
    option : the option; None where there is none.
    usual : for this target, where nobody says anything.

    Raises
    ------
    HloError
        HLO204 for a word that is neither "flush" nor "keep".
    """
    chosen = option or os.environ.get(VARIABLE) or usual
    for word in WORDS:
        if chosen == word:
            return word
    source = "subnormals" if option else VARIABLE
    notes = did_you_mean(chosen, WORDS) or [f"there are: {', '.join(WORDS)}"]
    raise HloError("HLO204", f"{source}={chosen!r}: no way to treat subnormal numbers", notes=notes)


def flushes_on_gpus(option: str | None = None) -> bool:
    """Whether code for GPUs takes subnormal numbers for zeros.

    Parameters
    ----------
    option : an option; without it, the environment decides, or else XLA's own flag.

    Raises
    ------
    HloError
        HLO204 for a word that is neither "flush" nor "keep".
    """
    usual: Subnormals = "flush" if has_flag("xla_gpu_ftz") else "keep"
    return chosen_subnormals(option, usual) == "flush"


@contextmanager
def assumed(subnormals: Subnormals | None) -> Generator[None]:
    """Code that is compiled meanwhile treats subnormal numbers so, unless it is told otherwise.

    Parameters
    ----------
    subnormals : None leaves everything as it is.
    """
    before = os.environ.get(VARIABLE)
    if subnormals is not None:
        os.environ[VARIABLE] = subnormals
    try:
        yield
    finally:
        if subnormals is not None and before is None:
            del os.environ[VARIABLE]
        elif before is not None:
            os.environ[VARIABLE] = before
