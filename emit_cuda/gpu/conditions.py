"""Graphs with loops and branches in them, so that the host reads no predicate.

A *conditional node* holds a graph, which runs as often as, or if, the value of a handle is not 0. A
kernel sets that value, after the kernel that computes the predicate:

    condition -> set_loop -> while (value) { body -> condition -> set_loop }
    set_branch 0 -> set_branch 1 -> if (value 0) { branch 0 } -> if (value 1) { branch 1 }

A graph inside of a node may have conditional nodes itself. Another stream records it meanwhile.

References
----------
NVIDIA, *CUDA Driver API*, Graph Management; XLA,
`xla/stream_executor/cuda/cuda_command_buffer.cc`.
"""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from typing import TYPE_CHECKING

from emit_cuda.gpu.graphs import RELAXED, call, check, driver

if TYPE_CHECKING:
    from collections.abc import Generator

    Nodes = ctypes.Array[ctypes.c_void_p]

# The driver's numbers: of a conditional node, of its two kinds, of a handle with a default value.
_CONDITIONAL, IF, WHILE, _ASSIGN_DEFAULT = 13, 0, 1, 1
# The nodes that are given are the only ones after which a stream records the next.
_SET_DEPENDENCIES = 1
# Of the first driver with conditional nodes: CUDA 12.4.
_HAS_CONDITIONALS = 12040
# Kernels that give a conditional node the host's predicate: whether a loop goes on, and whether
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


def new_condition(stream: int) -> int:
    """A handle of a condition for a node of the graph that a stream records."""
    context, handle = ctypes.c_void_p(), ctypes.c_ulonglong()
    call("cuCtxGetCurrent", ctypes.byref(context))
    default = ctypes.c_uint(0), ctypes.c_uint(_ASSIGN_DEFAULT)
    graph, _ = _recorded_by(stream)
    call("cuGraphConditionalHandleCreate", ctypes.byref(handle), graph, context, *default)
    return handle.value


def add_node(stream: int, condition: int, kind: int) -> ctypes.c_void_p:
    """Add a conditional node to the graph that a stream records; gives the graph inside of it.

    Parameters
    ----------
    kind : `IF` or `WHILE`.

    Raises
    ------
    HloError
        HLO192 if the driver refuses it.
    """
    node, context = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuCtxGetCurrent", ctypes.byref(context))
    params = _ConditionalNode(
        type=_CONDITIONAL, handle=condition, kind=kind, size=1, context=context
    )
    graph, before = _recorded_by(stream)
    after = before, ctypes.c_size_t(len(before))
    call("cuGraphAddNode", ctypes.byref(node), graph, *after, ctypes.byref(params))
    # The stream records its next node after this one.
    last = ctypes.byref(node), ctypes.c_size_t(1), ctypes.c_uint(_SET_DEPENDENCIES)
    call("cuStreamUpdateCaptureDependencies", ctypes.c_void_p(stream), *last)
    return ctypes.c_void_p(params.graphs[0])


@contextmanager
def into(handle: int, graph: ctypes.c_void_p) -> Generator[None]:
    """Record the work of a stream inside of a `with`, as nodes of a graph."""
    stream, nothing = ctypes.c_void_p(handle), (None, None, ctypes.c_size_t(0))
    call("cuStreamBeginCaptureToGraph", stream, graph, *nothing, ctypes.c_int(RELAXED))
    try:
        yield
    finally:
        status = driver().cuStreamEndCapture(stream, ctypes.byref(ctypes.c_void_p()))
    check("cuStreamEndCapture", status)


def _recorded_by(stream: int) -> tuple[ctypes.c_void_p, Nodes]:
    """The graph that a stream records, and the nodes after which it would record the next one."""
    status, number, graph = ctypes.c_int(), ctypes.c_ulonglong(), ctypes.c_void_p()
    nodes, count = ctypes.POINTER(ctypes.c_void_p)(), ctypes.c_size_t()
    outputs = (ctypes.byref(pointer) for pointer in (status, number, graph, nodes, count))
    call("cuStreamGetCaptureInfo_v2", ctypes.c_void_p(stream), *outputs)
    return graph, (ctypes.c_void_p * count.value)(*nodes[: count.value])
