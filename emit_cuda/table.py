"""The table of CUDA: the entries that all emitters share, and CUDA's exceptions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from codegen.custom_calls import table
from codegen.elements.constants import literal_of
from codegen.elements.table import Element, Entry, Scalar, WholeArray
from codegen.opcodes import elements
from codegen.opcodes.ordering import write_sort
from codegen.opcodes.scalar import WRAPPING, write_elementwise
from codegen.opcodes.top_k import write_topk
from emit_cuda.grids.scattering import write_scatter_in_parallel
from hlo.attributes import CustomCall
from hlo.opcode import HOST, having
from hlo.table import OpTable
from interpreter.custom_calls.registry import all_functions
from optimizer.expanders.custom_call_expander import all_expansions
from optimizer.expanders.degenerate_collective_remover import ALONE, ENDS, STARTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr, Name
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index

HOST_QUEUES = "it talks to the host's queues, which a compiled module does not have"

# From device to device; from or to the host, there are none.
MAIL = frozenset({"send", "send-done", "recv", "recv-done"})
DEVICE_NUMBERS = having("device_number")
# The schedule has steps for them, as of `emit_cuda.program.collectives`.
TOGETHER = frozenset({*ALONE, *STARTS, *ENDS}) | MAIL | DEVICE_NUMBERS
# A device that is alone has kernels for these. Of several, each draws random numbers of its own.
STEPS_OF_SEVERAL = frozenset({"ragged-all-to-all", "rng-get-and-update-state"})
emits_cuda: OpTable[Entry] = OpTable(
    "emits_cuda",
    dict.fromkeys(sorted(HOST - MAIL), HOST_QUEUES),
    base=elements,
)
# The kernels of custom calls.
custom_calls = table.CustomCallKernels(table.kernel)
# The processor computes these in their place: see `codegen.program.host_calls`.
ON_HOST = frozenset(all_functions()) - custom_calls.targets - set(all_expansions())


@custom_calls(*sorted(ON_HOST))
def write_no_kernel(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """Write nothing, for the schedule has a step of its own for this opcode."""


def is_on_host(instr: Instruction) -> bool:
    """Whether the processor computes a custom call."""
    return CustomCall.of(instr).custom_call_target in ON_HOST


def write_constant(body: Body, instr: Instruction, index: Index) -> Expr:
    """A number where all elements are one, else a load from an array that the kernel is given."""
    literal = literal_of(instr)
    number = body.writer.constants.scalar(literal)
    if number is not None:
        return number
    pointer = body.constant(literal, instr.name)
    return body.loaded(instr.shape, pointer, index, instr.name)[0]


for _opcode in WRAPPING:
    emits_cuda.define(_opcode, Scalar(partial(write_elementwise, _opcode, wraps=False)))
emits_cuda.define("constant", Element(write_constant))
emits_cuda.define_all(dict.fromkeys(TOGETHER, WholeArray(write_no_kernel)))
emits_cuda.define("scatter", WholeArray(write_scatter_in_parallel))
emits_cuda.define("sort", WholeArray(partial(write_sort, in_chunks=False), in_memory=()))
emits_cuda.define("topk", WholeArray(partial(write_topk, in_chunks=False), in_memory=()))
