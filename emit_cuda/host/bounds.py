"""The amount of work that the model of CUDA's threads is given.

It takes some hundred times a GPU's time.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from optimizer.analysis.runs import operations

if TYPE_CHECKING:
    from hlo.instruction import Module

# Operations of a call, of all threads together: some minutes at 100 to 2,000 million a second.
# Checked kernels take ten to sixty times as long as others.
MOST_OPERATIONS, CHECKED = 1 << 35, 16
# Another bound may be set here, in the environment.
VARIABLE = "PYHLO_CUDA_HOST_OPERATIONS"


def refuse_too_much(module: Module, *, checked: bool = False) -> None:
    """Raise an error if a call would take very long.

    Raises
    ------
    HloError
        HLO196, with the number of operations, the bound, and how to raise it.
    """
    setting = os.environ.get(VARIABLE, "")
    most = int(setting) if setting.isdecimal() else MOST_OPERATIONS // (CHECKED if checked else 1)
    spent = operations(module)
    total = sum(spent.values())
    if total <= most:
        return
    hardest = max(spent, key=lambda instr: spent[instr])
    how = "checked kernels" if checked else "kernels"
    raise HloError(
        "HLO196",
        f"{module.name} asks for about {total:,} operations, and {how} on the processor are given "
        f"{most:,} at most",
        hardest.span,
        [
            f"%{hardest.name} alone asks for {spent[hardest]:,}",
            f"the bound is set by {VARIABLE}, as {VARIABLE}={total}",
            "smaller shapes go through the same kernels; `--platform c` runs the module as it is",
        ],
    )
