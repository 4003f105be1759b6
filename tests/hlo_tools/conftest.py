"""A way to run the `hlo` command inside the test's own process, and pages in a browser."""

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from hlo_tools.cli import main

MODELS = Path(__file__).parents[1] / "models"


class Result(NamedTuple):
    status: int
    out: str
    err: str


Command = Callable[..., Result]


@pytest.fixture
def hlo(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs `hlo` with some words, and bytes on its standard input."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run(*words: object, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin)))
        try:
            status = main([str(word) for word in words])
        except SystemExit as end:
            status = int(end.code or 0)
        return Result(status, *capsys.readouterr())

    return run


@pytest.fixture
def softmax() -> Path:
    return MODELS / "softmax_layer.hlo"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium, for tests that are marked with `viewer.IN_CHROMIUM`."""
    from viewer import started  # noqa: PLC0415

    driver = started()
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the pages of `hlo view` are."""
    return tmp_path_factory.mktemp("pages")


@pytest.fixture
def mean(browser: Any, folder: Path) -> Any:
    """The page of the mean of a sum."""
    return opened(browser, folder, "mean_of_sum")


@pytest.fixture
def mnist(browser: Any, folder: Path) -> Any:
    """The page of a training step."""
    return opened(browser, folder, "mnist_step")


def opened(browser: Any, folder: Path, name: str) -> Any:
    """The page of a session's module."""
    from viewer import SESSIONS, Viewer  # noqa: PLC0415

    return Viewer(browser, folder, name, (SESSIONS / f"{name}.hlo").read_text())
