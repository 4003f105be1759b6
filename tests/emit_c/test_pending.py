"""A module that is called before it is compiled."""

import threading

import numpy as np
import pytest

import emit_c
import hlo
from emit_c.executable.pending import PendingExecutable

TEXT = """HloModule m
ENTRY e {
  x = f32[1000] parameter(0)
  y = f32[1000] add(x, x)
  ROOT z = f32[1000] multiply(y, x)
}"""
X = np.arange(1000, dtype=np.float32)


@pytest.fixture
def gate():
    """What a compilation of these tests waits for, so that nothing depends on how fast it is."""
    opened = threading.Event()
    yield opened
    opened.set()


def test_it_is_interpreted_until_it_is_compiled(gate) -> None:
    module = hlo.parse(TEXT)

    def make():
        gate.wait()
        return emit_c.compile(module)

    pending = PendingExecutable(module, make)
    assert not pending.ready
    assert "being compiled" in repr(pending)
    assert (pending(X) == 2 * X * X).all()
    with pytest.raises(TimeoutError, match="m is still being compiled"):
        pending.wait(0)
    gate.set()
    compiled = pending.wait()
    assert pending.ready
    assert (pending(X) == compiled(X)).all()


def test_what_the_compiler_says_is_not_lost(gate) -> None:
    def make():
        gate.wait()
        raise hlo.HloError("HLO182", "the C compiler refuses the emitted code")

    pending = PendingExecutable(hlo.parse(TEXT), make)
    assert (pending(X) == 2 * X * X).all()
    gate.set()
    for call in (pending.wait, lambda: pending(X), lambda: pending(X)):
        with pytest.raises(hlo.HloError, match="the C compiler refuses"):
            call()


def test_compile_does_not_wait_if_asked() -> None:
    executable = emit_c.compile(hlo.parse(TEXT), wait=False)
    assert (executable(X) == 2 * X * X).all()
    assert (executable.wait()(X) == 2 * X * X).all()
    assert (executable(X) == 2 * X * X).all()


def test_what_is_not_well_formed_is_refused_at_once() -> None:
    bad = hlo.parse(TEXT.replace("f32[1000] multiply", "f32[999] multiply"))
    with pytest.raises(hlo.HloError, match="HLO0"):
        emit_c.compile(bad, wait=False)


def test_arguments_that_do_not_fit_are_refused_before_and_after(gate) -> None:
    module = hlo.parse(TEXT)
    pending = PendingExecutable(module, lambda: gate.wait() and emit_c.compile(module))
    for _ in range(2):
        with pytest.raises(hlo.HloError, match="HLO11"):
            pending(X[:10])
        gate.set()
        pending.wait()
