"""Whoever takes a module refuses one that is not well formed, as the verifier does."""

import sys
from pathlib import Path

import pytest

import emit_c
import hlo
import interpreter
import optimizer
from hlo_tools.cli import main
from hlo_tools.explanations.verifier_codes import VERIFIER_CODES
from optimizer.log import Log
from optimizer.observers import Verify

ERRORS = Path(__file__).parent / "errors"
WRONG = [path for path in sorted(ERRORS.glob("*.hlo")) if path.stem[:6] in VERIFIER_CODES]
ENTRIES = {
    "evaluate": interpreter.evaluate,
    "optimize": optimizer.optimize,
    "optimize for a GPU": lambda module: optimizer.optimize(module, target="gpu"),
    "one pass": lambda m: Log([Verify()]).run(optimizer.parse_pipeline("fusion"), m),
    "emit": emit_c.emit,
    "compile": emit_c.compile,
    "compile as it is": lambda module: emit_c.compile(module, optimize=False),
}
VERBS = (["run"], ["opt"], ["opt", "--check-values"], ["bisect"], ["timeline"])


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_a_module_that_is_not_well_formed_is_refused(path: Path, entry: str) -> None:
    with pytest.raises(hlo.HloError) as caught:
        ENTRIES[entry](hlo.parse(path.read_text()))
    assert caught.value.code == path.stem[:6]
    assert caught.value.span is not None


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_the_command_says_what_is_wrong(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for verb, *options in VERBS:
        assert main([verb, str(path), *options]) == 2
        assert f"error[{path.stem[:6]}]" in capsys.readouterr().err


def test_a_module_is_verified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    module = hlo.parse("ENTRY e { x = f32[] parameter(0) ROOT y = f32[] negate(x) }")
    monkeypatch.setattr(sys.modules["hlo.verify"], "verify_structure", seen.append)
    assert [float(interpreter.evaluate(module, x)) for x in (1.0, 2.0)] == [-1, -2]
    assert seen == [module]
