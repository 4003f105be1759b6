"""Custom calls of CUB's radix sort, in modules that XLA has compiled for an NVIDIA GPU.

XLA sorts large arrays of numbers by one call, with or without values that go with the keys:

    (keys, values, u8[n]) custom-call(keys, values), backend_config={"descending":false}

Memory for the library's own use is the last result.

References
----------
`xla/service/gpu/transforms/sort_rewriter.cc`; `cub::DeviceRadixSort`, whose order of floats is
that of their bits, but that -0 and +0 are equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.infer.checks import show
from hlo.wording import counted
from interpreter.arithmetic import total_order
from interpreter.custom_calls.options import config
from interpreter.custom_calls.registry import vendor_call
from interpreter.custom_calls.signatures import checked
from interpreter.custom_calls.vendors.gpu_products import results_of, with_workspace
from interpreter.numbers.widths import type_of, widened
from interpreter.order import stable_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hlo.instruction import Instruction
    from interpreter.custom_calls.signatures import Options
    from interpreter.engine.frame import Frame

    Array = NDArray[Any]

TARGETS = (
    "__cub$DeviceRadixSort",
    "xla.gpu.ext.cub_sort_unassigned_scratch_size",
    "xla.gpu.ext.cub_sort_keys",
    "xla.gpu.ext.cub_sort_pairs",
)


@vendor_call(*TARGETS)
def sort_by_radix(_frame: Frame, instr: Instruction, keys: Array, *values: Array) -> Any:
    """Sort rows of keys, and their values with them; equal keys stay as they are."""
    wide = widened(keys)
    if type_of(keys).is_floating:
        wide = total_order(np.where(wide == 0, np.zeros((), wide.dtype), wide))
    order = stable_order(wide, descending=is_descending(instr))
    return with_workspace(instr, *(np.take_along_axis(x, order, -1) for x in (keys, *values)))


def is_descending(instr: Instruction) -> bool:
    """Whether the greatest key comes first."""
    return config(instr).get("descending", False) is True


@checked(*TARGETS, note="rows of keys, or keys and values -> the same in order, memory")
def check_sort(instr: Instruction, _options: Options | None) -> str:
    """The fault in the operands or the results of a sort."""
    return next(_problems(instr), "")


def _problems(instr: Instruction) -> Iterator[str]:
    shapes, results = [o.shape for o in instr.operands], results_of(instr)
    if not 1 <= len(shapes) <= 2 or not all(s.is_array and s.rank for s in shapes):
        yield f"takes rows of keys, and of values; not {counted(len(shapes), 'operand')}"
    if shapes[0].element_type.is_complex:
        yield f"has no order for {show(shapes[0])}"
    if shapes[-1].dims != shapes[0].dims:
        yield f"can't sort {show(shapes[-1])} by {show(shapes[0])}"
    if len(results) <= len(shapes) or not instr.shape.is_tuple:
        yield "gives what it sorts, and memory"
    for shape, result in zip(shapes, results, strict=False):
        if not result.compatible(shape):
            yield f"makes {show(shape)}, not {show(result)}"
