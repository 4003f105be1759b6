"""cuFFT through ctypes: Fourier transforms in the current context.

References
----------
NVIDIA, *cuFFT*, cuFFT API Reference.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.program.library_calls import LibraryFft

# Of each kind: cufftType of 32 and of 64 bits, and the functions that execute it.
_KINDS = {
    "FFT": ((0x29, "C2C"), (0x69, "Z2Z")),
    "IFFT": ((0x29, "C2C"), (0x69, "Z2Z")),
    "RFFT": ((0x2A, "R2C"), (0x6A, "D2Z")),
    "IRFFT": ((0x2C, "C2R"), (0x6C, "Z2D")),
}
_FORWARD, _INVERSE = -1, 1


class Cufft:
    """The library, with a plan for each transform, which has memory of its own.

    Parameters
    ----------
    functions : libcufft.
    """

    def __init__(self, functions: Any) -> None:
        self._functions = functions
        self._plans: dict[LibraryFft, int] = {}

    def run(self, call: LibraryFft, addresses: Sequence[int], stream: int) -> None:
        """Let the library compute transforms, on a stream of the current context.

        Parameters
        ----------
        addresses : of the operand, which IRFFT changes, and of the result.

        Raises
        ------
        HloError
            HLO192 if the library refuses.
        """
        if call not in self._plans:
            self._plans[call] = self._planned(call)
        plan = ctypes.c_int(self._plans[call])
        self._call("SetStream", plan, ctypes.c_void_p(stream))
        name = _KINDS[call.kind][call.double][1]
        arguments = [plan, *map(ctypes.c_void_p, addresses)]
        if name in ("C2C", "Z2Z"):
            arguments.append(ctypes.c_int(_FORWARD if call.kind == "FFT" else _INVERSE))
        self._call(f"Exec{name}", *arguments)

    def _planned(self, call: LibraryFft) -> int:
        plan, size = ctypes.c_int(), ctypes.c_size_t()
        self._call("Create", ctypes.byref(plan))
        rank, number = len(call.lengths), ctypes.c_longlong
        lengths = (number * rank)(*call.lengths)
        # Without other layouts, rows lie one after the other; of real ones only half is there.
        self._call(
            "MakePlanMany64", plan, ctypes.c_int(rank), lengths, None, number(1), number(0),
            None, number(1), number(0), ctypes.c_int(_KINDS[call.kind][call.double][0]),
            number(call.batch), ctypes.byref(size),
        )  # fmt: skip
        return plan.value

    def _call(self, function: str, *arguments: Any) -> None:
        status = getattr(self._functions, f"cufft{function}")(*arguments)
        if status:
            raise HloError("HLO192", f"cufft{function} gives status {status}")
