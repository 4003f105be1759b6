"""Modules as Python objects: copied, pickled, loaded from files, shown in a line."""

import copy
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Literal

import pytest

import emit_c
import emit_cuda
import hlo
import interpreter
import optimizer
from emit_c.program.emit import emit

SOFTMAX = Path(__file__).parents[1] / "models" / "softmax_layer.hlo"
# A chain of operands that is deeper than Python's stack.
DEEP = "HloModule deep\n\nENTRY e {\n  x0 = f32[] parameter(0)\n" + "".join(
    f"  {'ROOT ' if i == 4999 else ''}x{i + 1} = f32[] negate(x{i})\n" for i in range(5000)
)


def test_modules_are_pickled_and_copied() -> None:
    module = hlo.load(SOFTMAX)
    again = pickle.loads(pickle.dumps(module))
    assert str(again) == str(module)
    assert again.span.source.name == str(SOFTMAX)
    assert copy.deepcopy(module) is copy.copy(module) is module
    assert copy.deepcopy([module.entry, module.entry.root]) == [module.entry, module.entry.root]


def everything(module: hlo.Module) -> list[tuple[object, ...]]:
    """All of a module that the text may not show: order, spans, bits of constants."""
    return [
        (c.name, c.execution_thread, c.root.name, i.name, i.shape, i.attrs, i.annotations)
        + tuple(x.name for x in (*i.operands, *i.called, *i.control_predecessors))
        + ((i.span.start, i.span.end, i.span.source.name) if i.span else ())
        for c in module.computations
        for i in c.instructions
    ]


def source(module: hlo.Module) -> str:
    """The C of a module, or why there is none."""
    try:
        return emit(module).source
    except hlo.HloError as error:
        return str(error)


@pytest.mark.parametrize("target", ["cpu", "gpu"])
@pytest.mark.parametrize("path", sorted(SOFTMAX.parent.glob("*.hlo")), ids=lambda path: path.stem)
def test_a_pickled_module_is_the_module(path: Path, target: Literal["cpu", "gpu"]) -> None:
    """Optimized ones too: their order is not that of the text."""
    module = optimizer.optimize(hlo.load(path), target=target)
    again = pickle.loads(pickle.dumps(module))
    assert everything(again) == everything(module)
    assert str(again) == str(module)
    hlo.verify(again)
    assert source(again) == source(module)


def text_and_source(module: hlo.Module) -> tuple[str, str]:
    return str(module), source(module)


def test_it_is_the_module_in_other_threads_and_processes() -> None:
    module = optimizer.optimize(hlo.load(SOFTMAX))
    wanted = text_and_source(module)
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(text_and_source, [module, module])) == [wanted, wanted]
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert pool.submit(text_and_source, module).result() == wanted


def test_constants_stay_what_they_are() -> None:
    """Read-only, with every bit, and without memory where the text has left them out."""
    module = hlo.parse(
        "ENTRY e { a = f32[2] constant({nan, -0}) b = f32[99999999] constant({...})"
        " ROOT r = (f32[2], f32[99999999]) tuple(a, b) }"
    )
    dumped = pickle.dumps(module)
    assert len(dumped) < 10_000
    again = pickle.loads(dumped)
    a, b = (i.attrs.literal for i in again.entry.instructions[:2])
    assert [a, b] == [i.attrs.literal for i in module.entry.instructions[:2]]
    assert not a.array.flags.writeable
    assert again.entry.root.shape.elements[0].element_type is a.shape.element_type


def test_deep_modules_are_pickled() -> None:
    module = hlo.parse(DEEP + "}\n")
    assert str(pickle.loads(pickle.dumps(module))) == str(module)


def test_parts_of_modules_say_why_they_are_not_pickled() -> None:
    module = hlo.load(SOFTMAX)
    for part in (module.entry, module.entry.root):
        with pytest.raises(TypeError, match="pickle the module"):
            pickle.dumps(part)


def test_errors_come_out_of_a_process_pool() -> None:
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        error = pool.submit(hlo.parse, "HloModule m {", "bad.hlo").exception()
        module = pool.submit(hlo.parse, SOFTMAX.read_text()).result()
    assert isinstance(error, hlo.HloError)
    assert str(error).startswith("bad.hlo:1:")
    noted = error.noting("a note")
    assert str(pickle.loads(pickle.dumps(noted))) == str(noted)
    assert str(module) == str(hlo.load(SOFTMAX))


def test_files_are_loaded(tmp_path: Path) -> None:
    assert str(hlo.load(str(SOFTMAX))) == str(hlo.parse(SOFTMAX.read_text()))
    with pytest.raises(hlo.HloError, match="HLO200"):
        hlo.load(tmp_path)
    (tmp_path / "m.pb").write_bytes(b"\0")
    with pytest.raises(hlo.HloError, match="HLO201") as caught:
        hlo.load(tmp_path / "m.pb")
    assert "hlo print" in caught.value.notes[0]


def test_a_file_of_stablehlo_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(
        "module @m { func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {"
        " %y = stablehlo.negate %x : tensor<4xf32> return %y : tensor<4xf32> } }"
    )
    assert [i.opcode for i in hlo.load(path).entry.instructions] == ["parameter", "negate"]


@pytest.mark.parametrize("given", [b"HloModule m", SOFTMAX, 3])
def test_what_is_no_text_is_refused(given: object) -> None:
    with pytest.raises(TypeError, match="a text is needed, not"):
        hlo.parse(given)


def test_a_path_and_a_text_are_told_apart() -> None:
    with pytest.raises(hlo.HloError, match=r"this is the name of a file.*hlo\.load"):
        hlo.parse("models/softmax.hlo")
    with pytest.raises(TypeError, match=r"a path is needed, not a text of several lines; hlo"):
        hlo.load(SOFTMAX.read_text())
    for given in (SOFTMAX.read_bytes(), 3, None):
        with pytest.raises(TypeError, match=r"a path is needed, not (bytes|int|NoneType)"):
            hlo.load(given)


@pytest.mark.parametrize(
    "use",
    [
        hlo.verify,
        interpreter.evaluate,
        optimizer.optimize,
        emit_c.compile,
        emit_c.emit,
        emit_cuda.compile,
        emit_cuda.emit,
    ],
)
def test_what_is_no_module_is_refused(use) -> None:
    with pytest.raises(TypeError, match="a module is needed, not str"):
        use(SOFTMAX.read_text())


def test_everything_is_shown_in_a_short_line() -> None:
    module = hlo.load(SOFTMAX)
    assert repr(module) == "<module jit_softmax_layer, 33 instructions>"
    assert repr(module.entry.root.shape) == "<shape f32[8,10]{1,0}>"
    shown = {repr(instr) for instr in module.entry.instructions}
    assert "%x.1 = f32[8,16]{1,0} parameter(0)" in shown
    assert (
        "%dot_general.1 = f32[8,10]{1,0} dot(%x.1, %weights.1), lhs_contracting_dims={1}, "
        "rhs_contracting_dims={0}" in shown
    )
    executable = repr(emit_c.compile(module))
    assert executable.startswith("<executable (f32[8,16]{1,0}, ")
    assert executable.endswith(" bytes of temporaries>")
    assert repr(emit_c.emit(module)).startswith("<program of ")
    on_gpu = optimizer.optimize(module, target="gpu")
    assert repr(emit_cuda.emit(on_gpu)).endswith(" kernels of CUDA C, 320 bytes of temporaries>")
    long = hlo.parse(f"ROOT c = s32[40] constant({{{','.join(['1'] * 40)}}})")
    assert repr(long.entry.root) == "%c = s32[40]{0} constant({...})"
