"""Graphs with loops and branches in them, so that the host reads no predicate.

A *conditional node* holds a graph, which runs as often as, or if, the value of a handle is not 0. A
kernel sets that value, behind what computes the predicate:

    condition -> set_loop -> while (value) { body -> condition -> set_loop }
    set_branch 0 -> set_branch 1 -> if (value 0) { branch 0 }, if (value 1) { branch 1 }

References
----------
NVIDIA, *CUDA Driver API*, Graph Management; XLA,
`xla/stream_executor/cuda/cuda_command_buffer.cc`.
"""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from emit_cuda.gpu.graphs import RELAXED, DriverGraph, call, driver
from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from emit_cuda.devices import Kernels

    # Asks a stream for what is to be recorded.
    Record = Callable[[], None]
    Nodes = ctypes.Array[ctypes.c_void_p]

# The driver's numbers: of a conditional node, of its two kinds, of a handle with a default value.
_CONDITIONAL, _IF, _WHILE, _ASSIGN_DEFAULT = 13, 0, 1, 1
# Of the first driver with conditional nodes: CUDA 12.4.
_HAS_CONDITIONALS = 12040
# Kernels that tell a conditional node what the host would read: whether a loop goes on, and whether
# a branch is the chosen one. The driver has the function that they call.
CONDITIONS = """
extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned int value);
extern "C" __global__ void set_loop(unsigned long long handle, const unsigned char *goes_on) {
  cudaGraphSetConditional(handle, *goes_on != 0);
}
extern "C" __global__ void set_branch(unsigned long long handle, const int *number, int branch,
                                      int count) {
  int asked = *number;
  cudaGraphSetConditional(handle, branch == (asked >= 0 && asked < count ? asked : count - 1));
}
extern "C" __global__ void set_side(unsigned long long handle, const unsigned char *first,
                                    int branch, int) {
  cudaGraphSetConditional(handle, branch == (*first ? 0 : 1));
}
"""
KERNELS = SET_LOOP, SET_BRANCH, SET_SIDE = "set_loop", "set_branch", "set_side"
# The name of their file, and how NVRTC leaves a function to be linked.
FILE, LINKED = "conditions.cu", "--relocatable-device-code=true"


class _ConditionalNode(ctypes.Structure):
    """`CUgraphNodeParams` of a conditional node."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("reserved", ctypes.c_int * 3),
        ("handle", ctypes.c_ulonglong),
        ("kind", ctypes.c_int),
        ("size", ctypes.c_uint),
        ("graphs", ctypes.POINTER(ctypes.c_void_p)),
        ("context", ctypes.c_void_p),
        ("rest", ctypes.c_longlong * 26),
    )


def has_conditionals() -> bool:
    """Whether the driver has conditional nodes."""
    version = ctypes.c_int()
    call("cuDriverGetVersion", ctypes.byref(version))
    return version.value >= _HAS_CONDITIONALS


class ConditionalGraph(DriverGraph):
    """A loop or branches that were recorded.

    Parameters
    ----------
    setters : the kernels that set conditions.
    """

    def __init__(self, setters: Kernels) -> None:
        super().__init__()
        self._setters = setters

    def record_loop(self, handle: int, begin: Record, again: Record, predicate: int) -> None:
        """Take a loop: what comes first, and what is repeated as long as a predicate holds.

        Parameters
        ----------
        handle : of the stream that records.
        predicate : the address of a truth value.

        Raises
        ------
        HloError
            HLO192 if something inside can't be recorded.
        """
        stream = ctypes.c_void_p(handle)
        call("cuGraphCreate", ctypes.byref(self.graph), ctypes.c_uint(0))
        condition = self._condition()
        with _into(stream, self.graph):
            begin()
            self._set(SET_LOOP, condition, predicate)
            before = _last_nodes(stream)
        with _into(stream, self._conditional(before, condition, _WHILE)):
            again()
            self._set(SET_LOOP, condition, predicate)
        self.instantiate()

    def record_choice(
        self, handle: int, branches: Sequence[Record], number: int, *, of_pred: bool
    ) -> None:
        """Take branches, of which the chosen one runs.

        Parameters
        ----------
        handle : of the stream that records.
        number : the address of the branch's number, or of a truth value.

        Raises
        ------
        HloError
            HLO192 if something inside can't be recorded.
        """
        stream, count = ctypes.c_void_p(handle), np.int32(len(branches))
        call("cuGraphCreate", ctypes.byref(self.graph), ctypes.c_uint(0))
        conditions = [self._condition() for _ in branches]
        with _into(stream, self.graph):
            for branch, condition in enumerate(conditions):
                kernel = SET_SIDE if of_pred else SET_BRANCH
                self._set(kernel, condition, number, np.int32(branch), count)
            before = _last_nodes(stream)
        for branch, condition in zip(branches, conditions, strict=True):
            with _into(stream, self._conditional(before, condition, _IF)):
                branch()
        self.instantiate()

    def _set(self, kernel: str, condition: int, *given: int | np.generic) -> None:
        one = (1, 1, 1)
        self._setters.launch(kernel, one, one, 0, (np.uint64(condition), *given))

    def _condition(self) -> int:
        """A handle of a condition, which is false when the graph begins."""
        context, made = ctypes.c_void_p(), ctypes.c_ulonglong()
        call("cuCtxGetCurrent", ctypes.byref(context))
        default = ctypes.c_uint(0), ctypes.c_uint(_ASSIGN_DEFAULT)
        function = "cuGraphConditionalHandleCreate"
        call(function, ctypes.byref(made), self.graph, context, *default)
        return made.value

    def _conditional(self, before: Nodes, condition: int, kind: int) -> ctypes.c_void_p:
        """Add a conditional node behind others; gives the graph inside of it."""
        node, context = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuCtxGetCurrent", ctypes.byref(context))
        params = _ConditionalNode(
            type=_CONDITIONAL, handle=condition, kind=kind, size=1, context=context
        )
        count = ctypes.c_size_t(len(before))
        given = ctypes.byref(node), self.graph, before, count, ctypes.byref(params)
        call("cuGraphAddNode", *given)
        return ctypes.c_void_p(params.graphs[0])


@contextmanager
def _into(stream: ctypes.c_void_p, graph: ctypes.c_void_p) -> Generator[None]:
    """Record the work of a stream inside of a `with`, as nodes of a graph."""
    nothing = None, None, ctypes.c_size_t(0)
    call("cuStreamBeginCaptureToGraph", stream, graph, *nothing, ctypes.c_int(RELAXED))
    try:
        yield
    finally:
        status = driver().cuStreamEndCapture(stream, ctypes.byref(ctypes.c_void_p()))
    if status:
        raise HloError("HLO192", f"the driver's cuStreamEndCapture gives status {status}")


def _last_nodes(stream: ctypes.c_void_p) -> Nodes:
    """The nodes behind which a stream would record the next one."""
    status, number, graph = ctypes.c_int(), ctypes.c_ulonglong(), ctypes.c_void_p()
    nodes, count = ctypes.POINTER(ctypes.c_void_p)(), ctypes.c_size_t()
    told = (ctypes.byref(each) for each in (status, number, graph, nodes, count))
    call("cuStreamGetCaptureInfo_v2", stream, *told)
    return (ctypes.c_void_p * count.value)(*nodes[: count.value])
