"""Programs that are kept apart from tuning: their means tell what others will see.

python -m benchmarks.compiled apart

Nobody tunes for one of them or looks at its row while tuning; so the table prints means and counts
only. A program that is found to be slow elsewhere goes to the other tables, not here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.programs import entering

if TYPE_CHECKING:
    from benchmarks.kernels import Kernel

APART: dict[str, Kernel] = {}
program = entering(APART)
FILES = ("finance", "learning", "networks", "probability", "sciences", "texts", "vision")
