"""The kernels of every opcode compile for GPUs, and not only for the processor."""

import random

import pytest

import emit_cuda
import hlo
from emit_cuda import nvrtc
from emit_cuda.code.names import Names
from emit_cuda.kernels.file import KernelFile
from hlo_tools.generate.modules import CALLING, OPCODES_MADE, RARE, random_module
from optimizer.dynamic_padder.padding import is_dynamic
from optimizer.pipelines import prepare

pytestmark = pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
TYPES = ("f8e4m3fn", "f8e5m2", "f8e4m3b11fnuz", "f8e8m0fnu", "bf16", "f16", "s4", "c64", "pred")
CONVERT = """HloModule m
ENTRY e {{
  x = {0}[1000] parameter(0)
  y = {0}[1000] parameter(1)
  ROOT c = pred[1000] compare(x, y), direction=NE
}}"""


def test_every_kind_of_type_compiles():
    """Tables of constants, among them, must be constants."""
    kernels = KernelFile(Names())
    for name in TYPES:
        emit_cuda.emit(hlo.parse(CONVERT.format(name)), kernels)
    assert len(nvrtc.compile(kernels.source("")).usage) >= len(TYPES)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
def test_the_kernels_of_every_opcode_compile(architecture):
    kernels = KernelFile(Names())
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
