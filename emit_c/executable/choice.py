"""On how many threads the calls of a module run, and why: what `runtime/calls.c` has found out."""

from __future__ import annotations

import ctypes

from hlo.wording import counted


class ThreadChoice(ctypes.Structure):
    """`struct hlo_choice` of calls.h."""

    threads: int
    is_alone: int
    is_shared: int
    left: int
    halvings: int
    counted: list[int]
    seconds: list[float]

    _fields_ = (
        *((n, ctypes.c_int64) for n in ("threads", "is_alone", "is_shared", "is_measured")),
        *((n, ctypes.c_int64) for n in ("since_switch", "left", "halvings")),
        ("counted", ctypes.c_int64 * 2),
        ("seconds", ctypes.c_double * 2),
        *((n, ctypes.c_double) for n in ("sum", "cost", "credit")),
    )

    def explained(self, there: int) -> str:
        """The choice and its reason, in a sentence.

        Parameters
        ----------
        there : threads that the process uses.
        """
        if self.threads:
            return f"calls take at most {counted(self.threads, 'thread')}, as was asked for"
        if there == 1:
            return "calls take one thread, as there are no others"
        if not self.is_shared:
            return "calls take one thread: none so far had a loop that is long enough for several"
        names = f"all {there} threads", "one thread"
        alone = bool(self.is_alone)
        if not self.counted[alone]:
            return f"calls take {names[alone]}: none was measured yet"
        if not self.counted[not alone]:
            return f"calls take {names[alone]}, {self._mean(alone)}; {names[not alone]}: not tried"
        return (
            f"calls take {names[alone]}, {self._mean(alone)}; "
            f"on {names[not alone]} it was {self._mean(not alone)}"
        )

    def _mean(self, alone: bool) -> str:
        return f"{self.seconds[alone] * 1e6:,.1f} us in the mean"
