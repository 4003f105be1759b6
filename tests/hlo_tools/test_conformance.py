"""`hlo check --backend`: it finds faults of backends, and none in those of our own."""

import pytest
from strategies.wrong import habits, opcodes

from emit_cuda.gpu import missing
from hlo_tools.conformance.probes import OPCODES, Probe, opcode_probes, random_probes
from hlo_tools.conformance.suite import CRASHED, EQUAL, WRONG, Reference, Suite

FAULTS = {
    f"{file.__file__}:{name}": about
    for file in (opcodes, habits)
    for name, about in file.FAULTS.items()
}
SMALLEST = """
negate: 0.0 instead of -0.0; 1 of 1 elements differ
HloModule main, entry_computation_layout={(f32[])->f32[]}

ENTRY %main (parameter: f32[]) -> f32[] {
  %parameter = f32[] parameter(0)
  ROOT %negate = f32[] negate(%parameter)
}

// %parameter = f32[] 0.
"""


def test_every_opcode_meets_nearly_every_type_that_it_can_have() -> None:
    """An opcode without a module is never asked for; these numbers were counted once."""
    assert len(OPCODES) > 75
    types = {p.module.entry.root.shape.element_type.name for p in opcode_probes("add")}
    assert len(types) > 30
    assert {p.module.entry.parameters[0].shape.element_type for p in opcode_probes("is-finite")}


def test_a_fault_is_shown_on_the_smallest_module(hlo) -> None:
    result = hlo(
        "check", "--backend", f"{opcodes.__file__}:negate_is_zero_minus", "--opcodes", "negate"
    )
    assert result.status == 1, result.err
    assert result.out.endswith(SMALLEST)
    assert "negate is wrong" in result.out


def test_a_backend_that_ends_its_process_is_told_of(hlo) -> None:
    result = hlo(
        "check", "--backend", f"{opcodes.__file__}:ends_the_process", "--opcodes", "reverse,add"
    )
    assert result.status == 1
    assert "reverse is a crash: the process ended: SIGSEGV" in result.out
    assert "add" in result.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--backend none.py:x", "cannot read none.py"),
        ("--backend x --opcodes add", "there is no platform `x`"),
        *([("--backend cuda", "HLO194")] if missing() else []),
        ("--backend c --opcodes adds", "did you mean `add`?"),
        ("cse --opcodes add", "--opcodes has no effect without --backend"),
        ("", "one of PASS, --backend is needed"),
        ("cse --backend c", "one of PASS, --backend is needed, not PASS and --backend"),
    ],
)
def test_bad_words_are_told_of(hlo, words: str, told: str) -> None:
    result = hlo("check", *words.split())
    assert result.status == 2
    assert told in result.err


def test_backends_may_flush_subnormal_numbers(monkeypatch) -> None:
    """As C does by default: the least f64 is a zero for it, and so is its sign."""
    monkeypatch.setenv("PYHLO_SUBNORMALS", "flush")
    found = Suite("c", opcodes=("sign",)).run()
    assert {about: f.detail for about, f in found.first.items()} == {}


def test_another_module_is_drawn_for_one_that_the_reference_refuses() -> None:
    """XLA refuses some random modules, and the backend is asked as many questions as ever."""

    class Choosy(Reference):
        def knows(self, probe: Probe) -> bool:
            return len(probe.module.entry.instructions) % 3 == 0

    drawn = Choosy("interpreter").known(random_probes, 90, most=9)
    assert len({str(p.module) for p in drawn}) == 9
    assert not any(len(p.module.entry.instructions) % 3 for p in drawn)


@pytest.fixture(scope="module")
def right() -> Reference:
    """One reference for all faults: its questions and values are most of the time of a suite."""
    return Reference.beside("interpreter", "interpreter")


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS, ids=lambda name: name.rpartition(":")[2])
def test_a_fault_is_found(name: str, right: Reference) -> None:
    """By the whole suite, which is not told where, and by the questions about its opcode alone."""
    about = FAULTS[name]
    for alone in {(), (about,) if about in OPCODES else ()}:
        found = Suite(name, opcodes=alone, early=True, right=right).run()
        assert found.first, f"{name} passes"
        assert next(iter(found.first.values())).kind in (WRONG, CRASHED)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["interpreter", "c"])
def test_our_own_backends_pass(name: str) -> None:
    found = Suite(name).run()
    assert {about: f.detail for about, f in found.first.items()} == {}
    assert sum(own[EQUAL] for own in found.counts.values()) > 5000


# Its kernels take long to compile.
@pytest.mark.slow
@pytest.mark.parametrize("opcode", ["add", "compare", "reduce", "gather", "sort", "dot", "tanh"])
def test_the_model_of_a_gpu_passes(opcode: str) -> None:
    found = Suite("cuda-host", opcodes=(opcode,)).run()
    assert {about: f.detail for about, f in found.first.items()} == {}


@pytest.mark.gpu
@pytest.mark.skipif(bool(missing()), reason=missing())
def test_a_gpu_passes() -> None:
    found = Suite("cuda", examples=50).run()
    assert {about: f.detail for about, f in found.first.items()} == {}
