"""Collectives on CUDA: among devices of the processor, and through NCCL by a stand-in."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import emit_cuda
import hlo
import interpreter
from codegen.program.steps import CollectiveStep, HostCall, flat
from codegen.program.streams import Segment, parts
from emit_cuda.exchange import transport_of
from emit_cuda.host import HostDevice
from emit_cuda.libraries import Libraries, carrying
from hlo.errors.error import HloError
from hlo.support.dlpack import CUDA
from interpreter.numbers.compare import BITS, compare
from tests.collectives import (
    ADD,
    PROGRAMS,
    TYPES,
    all_modes,
    entry,
    given_to_all,
    module_of,
    outcome,
)

STAND_IN = Path(__file__).parent / "stand_in" / "nccl.cpp"
# Sums in NCCL, sums by kernels, and the types that are stored otherwise than they are computed.
SOME = ["f32", "bf16", "c64", "s4"]


@pytest.fixture(scope="module", params=["copies", "NCCL"])
def libraries(request: Any, tmp_path_factory: Any) -> Libraries:
    """Without NCCL, devices share memory."""
    if request.param == "copies":
        return Libraries()
    made = tmp_path_factory.mktemp("libraries") / "libnccl.so.2"
    command = ["g++", "-std=c++20", "-O0", "-shared", "-fPIC", str(STAND_IN), "-o", str(made)]
    subprocess.run(command, check=True)
    return carrying(made)


def run(module: hlo.Module, given: Any, libraries: Libraries, *, optimize: bool = False) -> Any:
    executable = emit_cuda.compile(module, "host", libraries=libraries, optimize=optimize)
    return executable(per_device=given)


def equal_in_all_modes(kinds: list[str], libraries: Libraries, *, optimize: bool) -> None:
    module, given = hlo.parse(all_modes(kinds)), given_to_all(kinds)
    values = run(module, given, libraries, optimize=optimize)
    wanted = interpreter.evaluate(module, per_device=given)
    for device, (got, want) in enumerate(zip(values, wanted, strict=True)):
        difference = compare(got, want, BITS)
        assert difference is None, f"device {device}: {difference}"


def test_all_collectives_in_all_modes(libraries: Libraries) -> None:
    """Whose groups, which pieces, in which order numbers are combined: nothing may differ."""
    equal_in_all_modes(SOME, libraries, optimize=False)


@pytest.mark.slow
@pytest.mark.parametrize("optimize", [False, True])
def test_all_collectives_in_all_modes_of_all_types(libraries: Libraries, optimize: bool) -> None:
    equal_in_all_modes(TYPES, libraries, optimize=optimize)


# Each way to write a step, or to have none: numbers, starts, mail, loops, and who never comes.
QUICK = (
    *("a broadcast to some", "several arrays started", "slices started", "sent around"),
    *("a loop whose end all decide together", "a device that never comes", "numbers"),
)
SLOW = [
    pytest.param(name, marks=pytest.mark.slow)
    for name, (_, replicas, partitions) in PROGRAMS.items()
    if name not in QUICK and replicas * partitions > 1
]


@pytest.mark.parametrize("name", [*QUICK, *SLOW])
def test_programs_give_what_the_interpreter_gives(name: str, libraries: Libraries) -> None:
    """Down to the words of an error: who waits where for whom, too."""
    module, given = module_of(name)
    want = outcome(lambda: interpreter.evaluate(module, per_device=given))
    got = outcome(lambda: run(module, given, libraries))
    if isinstance(want, tuple):
        assert got == want
    else:
        assert compare(tuple(got), tuple(want), BITS) is None


MIXED = f"""HloModule m, replica_count=3
{ADD}
largest {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] maximum(a, b) }}
ENTRY e {{
  x = s32[4] parameter(0)
  y = f32[4] convert(x)
  sum = s32[4] all-reduce(x), to_apply=add
  most = f32[4] all-reduce(y), to_apply=largest
  ROOT r = (s32[4], f32[4]) tuple(sum, most)
}}"""


def test_kernels_reduce_what_the_library_has_not(libraries: Libraries) -> None:
    """NCCL's maximum of floats ignores NaN; and without NCCL, kernels combine everything."""
    executable = emit_cuda.compile(hlo.parse(MIXED), "host", libraries=libraries, optimize=False)
    folds = [len(s.folds) for s in flat(executable.program.steps) if isinstance(s, CollectiveStep)]
    assert folds == ([0, 1] if libraries.nccl else [1, 1])


def test_kernels_run_beside_a_collective() -> None:
    """Collectives follow each other on streams; what needs none of them is on another one."""
    text = """HloModule m, replica_count=2
ENTRY e {
  x = f32[24,24] parameter(0)
  g = f32[48,24] all-gather(x), dimensions={0}
  a = f32[24,24] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = (f32[48,24], f32[24,24]) tuple(g, a)
}"""
    executable = emit_cuda.compile(hlo.parse(text), "host", optimize=False)
    (segment,) = parts(executable.program.steps)
    assert isinstance(segment, Segment)
    streams = {type(each.step).__name__: each.stream for each in segment.queue}
    assert streams["CollectiveStep"] != streams["Launch"]


def test_optimized_pieces_of_inner_dimensions_lie_in_one_stretch() -> None:
    """So that no step is the processor's."""
    text = f"""HloModule m, replica_count=2
{ADD}
ENTRY e {{
  x = s32[6,4] parameter(0)
  g = s32[6,8] all-gather(x), dimensions={{1}}
  s = s32[6,2] reduce-scatter(x), dimensions={{1}}, to_apply=add
  a = s32[6,4] all-to-all(x), dimensions={{1}}, replica_groups={{{{1,0}}}}
  ROOT r = (s32[6,8], s32[6,2], s32[6,4]) tuple(g, s, a)
}}"""
    module, x = hlo.parse(text), np.arange(24, dtype=np.int32).reshape(6, 4)
    executable = emit_cuda.compile(module, "host")
    assert not any(isinstance(step, HostCall) for step in flat(executable.program.steps))
    given = [(x,), (x + 100,)]
    values, wanted = executable(per_device=given), interpreter.evaluate(module, per_device=given)
    assert compare(tuple(values), tuple(wanted), BITS) is None


@pytest.mark.parametrize("replicas", [1, 2])
def test_devices_draw_random_numbers_of_their_own(replicas: int) -> None:
    """The state of each goes on after it has waited for others."""
    between = "negate(x)" if replicas == 1 else "all-reduce(x), to_apply=add"
    body = entry(f"""s = u64[2] rng-get-and-update-state(), delta=3
 z = s32[4] {between}
 t = u64[2] rng-get-and-update-state(), delta=3
 ROOT r = (u64[2], u64[2], s32[4]) tuple(s, t, z)""")
    module = hlo.parse(f"HloModule m, replica_count={replicas}\n{ADD}{body}")
    given = [(np.arange(4, dtype=np.int32),)] * replicas
    wanted = interpreter.evaluate(module, per_device=given)
    assert compare(tuple(run(module, given, Libraries())), tuple(wanted), BITS) is None


def test_gpus_without_a_way_between_them() -> None:
    gpu = HostDevice(dlpack_device=(CUDA, 0))
    with pytest.raises(HloError, match="NCCL, by which GPUs exchange arrays, is missing") as caught:
        transport_of([gpu, gpu], Libraries())
    assert caught.value.code == "HLO195"
    assert caught.value.notes == ("pip install nvidia-nccl-cu13",)


def test_as_many_devices_as_the_module_is_for() -> None:
    """Or one that is alone, whose code has no collectives; others are refused."""
    module = hlo.parse(f"HloModule m, replica_count=2\n{ADD}" + entry(
        "ROOT r = s32[4] all-reduce(x), to_apply=add"))  # fmt: skip
    executable, x = emit_cuda.compile(module, "host"), np.arange(4, dtype=np.int32)
    with pytest.raises(HloError, match="arguments for 3 devices") as caught:
        executable(per_device=[(x,)] * 3)
    assert caught.value.code == "HLO116"
    assert (executable(x) == x).all()
    assert (executable(per_device=[(x,)])[0] == x).all()
