"""A way to run the `hlo` command inside the test's own process."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

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
