"""cuBLASLt through ctypes: products of matrices in the current context.

The library counts along columns first, and HLO along rows. So it is asked for the transposed
product, `result' = right' @ left'`, whose matrices lie in memory as they are. Products of f32 are
computed in f32, not in TF32 as XLA may by default.

References
----------
NVIDIA, *cuBLAS*, Using the cuBLASLt API.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.program.library_calls import LibraryGemm

WORKSPACE = 4 << 20
# cudaDataType.
_TYPES = {"f32": 0, "f64": 1, "f16": 2, "s8": 3, "c64": 4, "c128": 5, "s32": 10, "bf16": 14}
# For operands the cublasComputeType_t, the type of the factor of the product, and that as C has it.
_COMPUTE: dict[str, tuple[int, str, Any]] = {
    "f64": (70, "f64", ctypes.c_double),
    "c64": (68, "c64", ctypes.c_float * 2),
    "c128": (70, "c128", ctypes.c_double * 2),
    "s8": (72, "s32", ctypes.c_int32),
}
_USUAL = (68, "f32", ctypes.c_float)
# cublasLtMatmulDescAttributes_t, ...LayoutAttribute_t and ...PreferenceAttributes_t.
_TRANSPOSE_A, _TRANSPOSE_B, _EPILOGUE, _BIAS_POINTER = 3, 4, 7, 8
_BATCH_COUNT, _BATCH_STRIDE = 5, 6
_MOST_WORKSPACE = 1
# cublasLtEpilogue_t.
_PLAIN, _RELU, _BIAS = 1, 2, 4


class _GemmAlgorithm(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = (
        ("algorithm", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    )


@dataclass(frozen=True, slots=True)
class _GemmPlan:
    operation: ctypes.c_void_p
    layouts: tuple[ctypes.c_void_p, ...]
    algorithm: _GemmAlgorithm
    scalar: Any


class Cublas:
    """The library, with a plan for each product.

    Parameters
    ----------
    functions : libcublasLt.
    """

    def __init__(self, functions: Any) -> None:
        self._functions = functions
        self._handle: ctypes.c_void_p | None = None
        self._plans: dict[LibraryGemm, _GemmPlan] = {}

    def run(self, call: LibraryGemm, addresses: Sequence[int], stream: int) -> None:
        """Let the library compute a product, on a stream of the current context.

        Parameters
        ----------
        addresses : of the left and the right operand, the bias where there is one, the result, and
            `WORKSPACE` bytes.

        Raises
        ------
        HloError
            HLO192 if the library refuses.
        """
        if call not in self._plans:
            self._plans[call] = self._planned(call)
        plan = self._plans[call]
        left, right, *bias, result, workspace = (ctypes.c_void_p(a) for a in addresses)
        for address in bias:
            self._set("MatmulDesc", plan.operation, _BIAS_POINTER, address)
        one, zero = (_scalar(plan.scalar, factor) for factor in (call.alpha, 0))
        of_right, of_left, of_result = plan.layouts
        self._call(
            "Matmul", self._handle, plan.operation, ctypes.byref(one), right, of_right, left,
            of_left, ctypes.byref(zero), result, of_result, result, of_result,
            ctypes.byref(plan.algorithm), workspace, ctypes.c_size_t(WORKSPACE),
            ctypes.c_void_p(stream),
        )  # fmt: skip

    def _planned(self, call: LibraryGemm) -> _GemmPlan:
        if self._handle is None:
            self._handle = self._made("Create")
        compute, factor, scalar = _COMPUTE.get(call.operands, _USUAL)
        kinds = ctypes.c_int(compute), ctypes.c_int(_TYPES[factor])
        operation = self._made("MatmulDescCreate", *kinds)
        left_last, right_last = call.contracted_last
        # In memory the right operand is (columns, depth) to the library if columns come last.
        self._set("MatmulDesc", operation, _TRANSPOSE_A, ctypes.c_int32(right_last))
        self._set("MatmulDesc", operation, _TRANSPOSE_B, ctypes.c_int32(not left_last))
        epilogue = (_RELU if call.relu else 0) | (_BIAS if call.bias else 0) or _PLAIN
        self._set("MatmulDesc", operation, _EPILOGUE, ctypes.c_uint32(epilogue))
        m, n, k = call.columns, call.rows, call.depth
        layouts = (
            self._layout(call.operands, *((k, m) if right_last else (m, k)), call.batch),
            self._layout(call.operands, *((k, n) if left_last else (n, k)), call.batch),
            self._layout(call.result, m, n, call.batch),
        )
        preference = self._made("MatmulPreferenceCreate")
        most = ctypes.c_uint64(WORKSPACE)
        self._set("MatmulPreference", preference, _MOST_WORKSPACE, most)
        algorithm, count = _GemmAlgorithm(), ctypes.c_int()
        self._call(
            "MatmulAlgoGetHeuristic", self._handle, operation, *layouts, layouts[2], preference,
            ctypes.c_int(1), ctypes.byref(algorithm), ctypes.byref(count),
        )  # fmt: skip
        self._call("MatmulPreferenceDestroy", preference)
        if not count.value:
            raise HloError("HLO192", f"cuBLASLt knows no way to compute {call}")
        return _GemmPlan(operation, layouts, algorithm, scalar)

    def _layout(self, kind: str, rows: int, columns: int, batch: int) -> ctypes.c_void_p:
        """A matrix whose columns lie one after the other."""
        sizes = ctypes.c_uint64(rows), ctypes.c_uint64(columns), ctypes.c_int64(rows)
        layout = self._made("MatrixLayoutCreate", ctypes.c_int(_TYPES[kind]), *sizes)
        self._set("MatrixLayout", layout, _BATCH_COUNT, ctypes.c_int32(batch))
        self._set("MatrixLayout", layout, _BATCH_STRIDE, ctypes.c_int64(rows * columns))
        return layout

    def _made(self, function: str, *arguments: Any) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        self._call(function, ctypes.byref(handle), *arguments)
        return handle

    def _set(self, kind: str, thing: ctypes.c_void_p, attribute: int, value: Any) -> None:
        size = ctypes.c_size_t(ctypes.sizeof(value))
        number = ctypes.c_int(attribute)
        self._call(f"{kind}SetAttribute", thing, number, ctypes.byref(value), size)

    def _call(self, function: str, *arguments: Any) -> None:
        status = getattr(self._functions, f"cublasLt{function}")(*arguments)
        if status:
            raise HloError("HLO192", f"cublasLt{function} gives status {status}")


def _scalar(kind: Any, value: float) -> Any:
    """A number of a type of C, of which there are some without fractions, and some of two parts."""
    return kind(int(value) if kind is ctypes.c_int32 else value)
