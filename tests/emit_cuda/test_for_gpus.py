"""The kernels of every opcode compile for GPUs, and not only for the processor."""

import random
from itertools import islice

import pytest

import emit_cuda
import hlo
from emit_cuda import nvrtc
from emit_cuda.kernels.file import KernelFile
from hlo.opcode import OPCODES, having
from hlo.types.element_type import ELEMENT_TYPES
from hlo.verify import verify
from hlo_tools.generate.modules import CALLING, OPCODES_MADE, RARE, random_module
from optimizer.dynamic_padder.padding import is_dynamic
from optimizer.pipelines import prepare

pytestmark = pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
TYPES = ("f8e4m3fn", "f8e5m2", "f8e4m3b11fnuz", "f8e8m0fnu", "bf16", "f16", "s4", "c64", "pred")
# A compiler takes seconds for all.
PARTS = 4
CONVERT = """HloModule m
ENTRY e {{
  x = {0}[1000] parameter(0)
  y = {0}[1000] parameter(1)
  ROOT c = pred[1000] compare(x, y), direction=NE
}}"""

ELEMENTWISE = """HloModule m
ENTRY e {{
  x = {0}[8] parameter(0)
  y = {0}[8] parameter(1)
  z = {0}[8] parameter(2)
  ROOT r = {1}
}}"""


def test_every_kind_of_type_compiles():
    """Tables of constants, among them, must be constants."""
    kernels = KernelFile()
    for name in TYPES:
        emit_cuda.emit(hlo.parse(CONVERT.format(name)), kernels)
    assert len(nvrtc.compile(kernels.source("")).usage) >= len(TYPES)


def elementwise():
    """Modules of each elementwise opcode and each of its types, and of conversions."""
    for kind in ELEMENT_TYPES:
        for opcode in sorted(having("elementwise") - {"convert"}):
            operands = ("x", "y", "z")[: OPCODES[opcode].arity]
            results = kind, ELEMENT_TYPES[kind].real.name, "pred", "c64", "c128"
            for result in dict.fromkeys(results):
                yield ELEMENTWISE.format(kind, f"{result}[8] {opcode}({', '.join(operands)})")
            if opcode == "compare":
                yield ELEMENTWISE.format(kind, "pred[8] compare(x, y), direction=LT")
        for result in ("pred", "s8", "u64", "bf16", "f64", "c64"):
            yield ELEMENTWISE.format(kind, f"{result}[8] convert(x)")


@pytest.mark.parametrize("part", range(PARTS))
def test_every_elementwise_opcode_compiles_for_each_of_its_types(part):
    """C++ knows several functions of a name, by the types of their arguments, and C one."""
    kernels, written = KernelFile(), 0
    for text in islice(elementwise(), part, None, PARTS):
        try:
            module = hlo.parse(text)
            verify(module)  # most have a type that the opcode has not, which need not be optimized
            emit_cuda.emit(prepare(module), kernels)
            written += 1
        except hlo.HloError:
            continue
    assert written > 1000 // PARTS
    assert nvrtc.ptx(kernels.source(""))


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
def test_the_kernels_of_every_opcode_compile(architecture):
    kernels = KernelFile()
    for number, opcode in enumerate(sorted({*OPCODES_MADE, *RARE, *CALLING})):
        module = random_module(random.Random(number), size=3, favoured=[opcode])
        try:
            if not is_dynamic(module):
                emit_cuda.emit(prepare(module), kernels)
        except hlo.HloError as error:
            assert error.code == "HLO181"  # noqa: PT017 - collectives of several devices
    usage = nvrtc.compile(kernels.source(""), architecture).usage
    assert len(usage) > 240
    assert max(each.registers for each in usage.values()) <= 255
