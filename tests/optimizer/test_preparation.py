"""What is optimized is what is emitted: emission changes no HLO."""

from pathlib import Path

import pytest
from emitted import no_pass_runs

import emit_c
import emit_cuda
import hlo
from codegen.elements.table import Rewritten
from codegen.program.head import head
from emit_c.table import emits_c
from emit_cuda.table import emits_cuda
from hlo.verify import verify
from optimizer import PASSES, Log, optimize, prepare
from optimizer.dynamic_padder.dynamic_padder import UnpaddedWarning

TESTS = Path(__file__).parents[1]
CASES = sorted(TESTS.glob("cases/*/*.hlo"))
MODELS = sorted([*TESTS.glob("models/*.hlo"), *TESTS.parent.glob("tutorials/models/*.hlo")])


@pytest.mark.parametrize("target", ["cpu", "gpu"])
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_optimized_module_is_emitted(path, target):
    module = hlo.parse(path.read_text())
    if module.header.num_partitions * module.header.replica_count > 1:
        pytest.skip("it needs several devices")
    optimized = optimize(module, target, observers=())
    assert prepare(optimized, target) is optimized
    verify(optimized)
    with no_pass_runs():
        program = (emit_c if target == "cpu" else emit_cuda).emit(optimized)
    assert program.module is optimized
    assert program.source.startswith(head(optimized))


@pytest.mark.parametrize("part", range(4))
def test_the_prepared_module_is_emitted_as_cuda(part):
    """That it is emitted as C, `tests/emit_c/test_buffers.py` tests."""
    emitted = 0
    for path in CASES[part::8]:
        module = hlo.parse(path.read_text().partition("// EXPECT")[0])
        try:
            prepared = prepare(module, "gpu")
            with no_pass_runs():
                program = emit_cuda.emit(prepared)
        except hlo.HloError as error:  # what only C can do, and what stays dynamic
            assert error.code in ("HLO043", "HLO076", "HLO181")  # noqa: PT017
            continue
        assert program.module is prepared
        assert program.source.startswith(head(prepared))
        emitted += 1
    assert emitted > 50


def test_what_an_emitter_leaves_to_passes_has_them():
    for table in (emits_c, emits_cuda):
        entries = [table.get(opcode) for opcode in hlo.opcode.OPCODES]
        named = {entry.by for entry in entries if isinstance(entry, Rewritten)}
        assert named
        assert named <= PASSES.keys()


def test_what_is_not_prepared_is_refused():
    text = """HloModule m
ENTRY e {
  a = f32[] constant(0)
  b = f32[] constant(1)
  ROOT r = f32[4] rng(a, b), distribution=rng_uniform
}"""
    module = hlo.parse(text)
    with pytest.raises(hlo.HloError, match="the pass rng-expander writes it") as caught:
        emit_c.emit(module)
    assert caught.value.code == "HLO181"
    assert emit_c.emit(prepare(module)).source


def test_a_module_that_stays_dynamic_says_why():
    text = """HloModule m
ENTRY e {
  x = f32[1,?] parameter(0)
  ROOT r = f32[1,?] negate(x)
}"""
    module = hlo.parse(text)
    with pytest.warns(UnpaddedWarning, match="m stays dynamic: .*HLO181"):
        assert PASSES["dynamic-padder"]().run(module, Log()) is module
