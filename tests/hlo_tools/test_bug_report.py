"""`hlo report-bug` and `hlo replay`: a run in a zip, which does nothing unasked elsewhere."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from hlo_tools.cli import main

LOG = "ENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] log(x) }"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    file, inputs, path = folder / "m.hlo", folder / "in.npz", folder / "bug.zip"
    file.write_text(LOG)
    np.savez(inputs, in0=np.array([1, -1], np.float32))
    words = ("run", file, f"--input={inputs}", "-o", folder / "out.npz")
    assert main([str(word) for word in ("report-bug", "-o", path, *words)]) == 0
    # Nothing of what was reported is needed any more.
    file.unlink()
    inputs.unlink()
    return path


def changed(report: Path, **fields: object) -> Path:
    """The same report with other fields."""
    other = report.with_name("other.zip")
    with zipfile.ZipFile(report) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "report.json":
                content = json.dumps(json.loads(content) | fields).encode()
            new.writestr(name, content)
    return other


def test_a_report_has_everything(report: Path) -> None:
    with zipfile.ZipFile(report) as archive:
        assert sorted(archive.namelist()) == [
            *("files/0-m.hlo", "files/1-in.npz", "outputs/out.npz", "report.json"),
        ]
        data = json.loads(archive.read("report.json"))
    assert data["words"] == ["run", "0-m.hlo", "--input=1-in.npz", "-o", "out.npz"]
    assert data["out"] == "f32[2] [ 0., nan]\n"
    assert {"python", "system", "numpy", "pyhlo", "C compiler"} <= data["versions"].keys()


def test_a_replay_gives_the_same(hlo, report: Path, tmp_path: Path) -> None:
    result = hlo("replay", report, "--keep", tmp_path / "kept")
    assert result.status == 0
    assert result.out.endswith("| f32[2] [ 0., nan]\nthe same as reported: exit status 0\n")
    assert (tmp_path / "kept" / "0-m.hlo").read_text() == LOG


def test_a_replay_tells_what_differs(hlo, report: Path) -> None:
    other = changed(report, status=1, out="f32[2] [0., 0.]\n", versions={"numpy": "1.0"})
    result = hlo("replay", other)
    assert result.status == 1
    assert f"numpy: 1.0 there, {np.__version__} here" in result.out
    assert result.out.endswith("exit status 0, not 1, other output\n")


@pytest.mark.parametrize(
    "words",
    [
        ["check", "evil.py:Pass"],
        ["minimize", "0-m.hlo", "--command", "true"],
        ["minimize", "0-m.hlo", "--comm=true"],
        ["jax", "script"],
        ["run", "/etc/passwd"],
        ["run", "0-m.hlo", "-o", "../out.npz"],
    ],
)
def test_a_replay_runs_no_code_and_writes_nothing_elsewhere(hlo, report: Path, words) -> None:
    result = hlo("replay", changed(report, words=words))
    assert (result.status, result.out) == (2, "")
    assert "error[HLO203]" in result.err
    assert "--trust" in result.err


def test_what_is_no_report_is_refused(hlo, tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    assert "error[HLO200]" in hlo("replay", path).err
    path.write_text("no zip")
    assert "error[HLO201]" in hlo("replay", path).err
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other", "")
    assert "error[HLO201]" in hlo("replay", path).err
    assert "error[HLO203]" in hlo("report-bug", "-o", path, "replay", path).err
