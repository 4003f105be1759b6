"""The grammars' tables are kept on disk, and never trusted blindly."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from lark import Lark

import emit_c
import hlo
from hlo.read.grammar import KINDS, PIECES, load_grammar
from hlo.support.cache import cache_folder, read_sealed, sealed

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def read_ints() -> Any:
    return load_grammar("kinds", KINDS).parse("{1,2}", "ints").children


def test_tables_are_written_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert read_ints() == ["1", "2"]
    tables = tmp_path / "pyhlo" / "grammars" / "kinds.json"
    written = tables.read_bytes()
    assert read_ints() == ["1", "2"]
    for harm in (written[:1000], b"", written.replace(b"int", b"Int"), sealed(b"{}")):
        tables.write_bytes(harm)
        assert read_ints() == ["1", "2"]
        assert len(read_sealed(tables) or b"") > 1000


def test_tables_that_fit_are_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    read_ints()
    monkeypatch.setattr(Lark, "__init__", None)
    assert read_ints() == ["1", "2"]


def test_nothing_is_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever can write a file that is unpickled can have anything run."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(pickle, "load", None)
    monkeypatch.setattr(pickle, "loads", None)
    for _ in range(2):
        assert read_ints() == ["1", "2"]
    emit_c.compile(hlo.parse("HloModule m\nENTRY e {\n  ROOT x = f32[] parameter(0)\n}"))


def test_no_folder_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cache_folder("grammars") is None
    assert read_ints() == ["1", "2"]


def test_there_are_no_conflicts() -> None:
    """Neither in LALR's tables nor between the terminals that one state accepts."""
    load_grammar("strict", [*PIECES, *KINDS], strict=True)
