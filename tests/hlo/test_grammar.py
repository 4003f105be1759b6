"""The grammars' tables are kept on disk, and never trusted blindly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.read.grammar import KINDS, PIECES, load_grammar
from hlo.support.cache import cache_folder

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def read_ints() -> Any:
    return load_grammar("kinds", KINDS).parse("{1,2}", "ints").children


def test_tables_are_written_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert read_ints() == ["1", "2"]
    tables = tmp_path / "pyhlo" / "grammars" / "kinds.tables"
    written = tables.read_bytes()
    assert read_ints() == ["1", "2"]
    tables.write_bytes(written[:1000])
    assert read_ints() == ["1", "2"]


def test_no_folder_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cache_folder("grammars") is None
    assert read_ints() == ["1", "2"]


def test_there_are_no_conflicts() -> None:
    """Neither in LALR's tables nor between the terminals that one state accepts."""
    load_grammar("strict", [*PIECES, *KINDS], strict=True)
