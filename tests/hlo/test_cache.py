"""The cache on disk: what is broken is removed, and what others could change is not used."""

import os
import stat
from pathlib import Path

import pytest

from hlo.support import cache as module
from hlo.support.cache import (
    cache,
    cache_folder,
    read_sealed,
    remove_remains,
    write_sealed,
)

DATA = bytes(range(256)) * 10


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(module, "_told", set())
    return tmp_path


def test_what_is_written_is_read(tmp_path):
    assert write_sealed(tmp_path / "a", DATA)
    assert read_sealed(tmp_path / "a") == DATA
    assert write_sealed(tmp_path / "a", b"")
    assert read_sealed(tmp_path / "a") == b""
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize(
    "harm",
    [
        lambda _: b"",
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data + b"\n",
        lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:],
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda _: DATA,
    ],
)
def test_a_file_that_does_not_fit_is_removed(tmp_path, harm):
    path = tmp_path / "a"
    write_sealed(path, DATA)
    path.write_bytes(harm(path.read_bytes()))
    assert read_sealed(path) is None
    assert not path.exists()


def test_what_is_no_file_is_none(tmp_path):
    assert read_sealed(tmp_path / "a") is None
    assert read_sealed(tmp_path) is None
    assert not write_sealed(tmp_path / "none" / "a", DATA)


def test_half_a_file_is_removed_where_the_disk_is_full(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert not write_sealed(tmp_path / "a", DATA)
    assert not list(tmp_path.iterdir())


def test_folders_are_for_the_user_only(home):
    folder = cache_folder("libraries")
    assert folder == home / "pyhlo" / "libraries"
    assert {stat.S_IMODE(f.stat().st_mode) for f in (folder, folder.parent)} == {0o700}


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o702])
@pytest.mark.parametrize("name", ["pyhlo", "pyhlo/libraries"])
def test_what_others_can_write_to_is_refused(home, mode, name):
    assert cache_folder("libraries")
    (home / name).chmod(mode)
    if name == "pyhlo":
        with pytest.warns(RuntimeWarning, match="not used: others can write to it: chmod 700"):
            assert cache_folder("libraries") is None
    assert cache_folder("libraries") is None  # and is told once


def test_what_belongs_to_others_is_refused(home, monkeypatch):
    (home / "pyhlo").mkdir()
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert cache().refused == f"it belongs to another user, {home.stat().st_uid}"
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        assert cache_folder("libraries") is None


@pytest.mark.parametrize(("mode", "refused"), [(0o777, True), (0o1777, False), (0o755, False)])
def test_nobody_else_may_change_the_folders_above(home, mode, refused, monkeypatch):
    shared = home / "shared"
    shared.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared / "mine"))
    shared.chmod(mode)
    assert cache().refused == (f"everybody can write to {shared} above it" if refused else "")


def test_what_killed_processes_leave_is_removed(tmp_path):
    for age in ("old", "new"):
        (tmp_path / f"build-{age}").mkdir()
        (tmp_path / f"build-{age}" / "part0.c").touch()
        (tmp_path / f"{age}.part").touch()
    (tmp_path / "whole.so").touch()
    for name in ("build-old", "old.part", "whole.so"):
        os.utime(tmp_path / name, (1, 1))
    assert remove_remains(tmp_path) == 2
    kept = sorted(p.name for p in tmp_path.iterdir())
    assert kept == ["build-new", "new.part", "whole.so"]
