"""`hlo torch` runs scripts of PyTorch unchanged."""

from pathlib import Path

import pytest

from hlo_tools.cli import main

SCRIPT = """
import sys, torch

@torch.compile(mode="max-autotune")
def f(x):
    return torch.special.airy_ai(x * 2) + 1

plain = torch.compile(lambda x: x + 1, backend="eager")

class Model(torch.nn.Linear):
    def forward(self, x):
        return super().forward(x)

model = Model(2, 2)
model.compile()
print(sys.argv[1], f(torch.zeros(2)), plain(torch.zeros(1)), model(torch.zeros(1, 2)).shape)
"""


@pytest.mark.usefixtures("torch")
def test_a_script_runs_unchanged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, folder = tmp_path / "script.py", tmp_path / "modules"
    script.write_text(SCRIPT)
    assert main(["torch", str(script), "--report", "--dump-to", str(folder), "--", "word"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "word tensor([1.3550, 1.3550]) tensor([1.]) torch.Size([1, 2])\n"
    first, why, second = shown.err.splitlines()
    assert first == "inference 1: 2 operations in 2 modules, 1 call"
    assert f"special_airy_ai.default at {script}:6: hlo_torch has no rule" in why
    assert second.startswith("forward 2: ")
    files = {path.name for path in folder.iterdir()}
    assert files == {*(f"inference_1_{k}.hlo" for k in (0, 1)), "forward_2_0.hlo", "report.txt"}


@pytest.mark.usefixtures("torch")
def test_a_folder_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken = tmp_path / "taken"
    taken.write_text("")
    assert main(["torch", "script.py", "--dump-to", str(taken)]) == 2
    assert "HLO200" in capsys.readouterr().err
