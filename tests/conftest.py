"""Hypothesis profiles, and what every test may ask for."""

import gc
import os
import signal
from collections.abc import Callable, Generator, Iterator

import pytest
from hypothesis import settings
from thinned import thin

from emit_c.executable import module_cache

# Most tests hold C to the interpreter, bit for bit; those of flushing say so themselves.
os.environ["PYHLO_SUBNORMALS"] = "keep"

# A shell lets what it runs in the background ignore Ctrl+C; tests of interrupts would never end.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("dev", max_examples=20, deadline=None)
settings.register_profile("ci", max_examples=20, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=100, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are collected: millions of objects are made, and all stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        # Nor does any later collection walk over them; and it comes less often, for what tests make
        # goes by itself.
        gc.freeze()
        gc.set_threshold(10_000, 20, 20)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave some examples of long tests to the slow run, before those are deselected."""
    thin(items)


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    """Whether golden tests shall rewrite what they expect."""
    return bool(request.config.getoption("--bless"))


@pytest.fixture
def alarm() -> Iterator[Callable[[Callable[..., object]], None]]:
    """Call it with what handles SIGALRM, which comes every 50 ms."""
    before = signal.getsignal(signal.SIGALRM)

    def begin(handler: Callable[..., object]) -> None:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)

    yield begin
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True, scope="session")
def build_always() -> Iterator[None]:
    """Tests change tables, and look at what is built: nothing is taken from an earlier build."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module_cache, "cache_folder", _no_folder)
        yield


@pytest.fixture(autouse=True, scope="session")
def nobody_at_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Exercises that tests do are not noted as those of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


def _no_folder(_: str) -> None:
    """What `cache_folder` says where nothing can be written."""
