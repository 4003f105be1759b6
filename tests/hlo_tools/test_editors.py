"""Neovim and Emacs with the settings of docs/howto/editor.md: they show an error of a file."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls")

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "editor.md"
WRONG = "HloModule m\n\nENTRY e {\n  a = f32[2] parameter(0)\n  ROOT b = f32[2] negat(a)\n}\n"
TOLD = "there is no opcode `negat`"
PATIENCE = 100  # seconds
LUA = f"""vim.wait({PATIENCE // 2}000, function() return #vim.diagnostic.get(0) > 0 end, 100)
for _, each in ipairs(vim.diagnostic.get(0)) do
  print(each.lnum + 1, each.col + 1, each.code, each.message)
end
vim.cmd("qa!")
"""
LISP = """
(find-file "m.hlo")
(run-hooks 'post-command-hook)
(let ((n 0))
  (while (and (< n 250) (not (and (eglot-current-server) (flymake-diagnostics))))
    (accept-process-output nil 0.2)
    (when (= 0 (mod n 10)) (flymake-start))
    (setq n (1+ n))))
(dolist (each (flymake-diagnostics))
  (message "%s %s" (line-number-at-pos (flymake-diagnostic-beg each))
           (flymake-diagnostic-text each)))
(kill-emacs 0)
"""

pytestmark = pytest.mark.slow


def settings(editor: str) -> str:
    """What the page tells to write into the editor's file."""
    section = PAGE.read_text().split(f"## {editor}\n")[1].split("\n## ")[0]
    return "\n".join(re.findall(r"(?m)^    (.*)$", section))


def said(command: list[str], folder: Path) -> str:
    """What an editor prints that opens a wrong file and waits for the error."""
    (folder / "m.hlo").write_text(WRONG)
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    environment = {"PATH": path, "HOME": str(folder), "TERM": "dumb"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, timeout=PATIENCE, check=False
    )
    return (done.stdout + done.stderr).decode()


def test_neovim_shows_the_error(tmp_path: Path) -> None:
    neovim = shutil.which("nvim")
    told = neovim and subprocess.run([neovim, "--version"], capture_output=True, check=True).stdout
    version = re.search(rb"v0\.(\d+)", told or b"")
    if neovim is None or version is None or int(version[1]) < 11:
        pytest.skip("needs Neovim 0.11")
    (tmp_path / "init.lua").write_text(settings("Neovim"))
    (tmp_path / "check.lua").write_text(LUA)
    command = [neovim, "--headless", "-u", "init.lua", "m.hlo", "-c", "luafile check.lua"]
    assert re.search(rf"5\s+19\s+HLO007\s+{TOLD}", said(command, tmp_path))


def test_emacs_shows_the_error(tmp_path: Path) -> None:
    emacs = shutil.which("emacs")
    asks = ["--batch", "-f", "package-initialize", "--eval", "(require 'eglot)"]
    if emacs is None or subprocess.run([emacs, *asks], capture_output=True, check=False).returncode:
        pytest.skip("needs Emacs with Eglot")
    (tmp_path / "check.el").write_text(settings("Emacs") + "\n(require 'eglot)" + LISP)
    command = [emacs, "--batch", "-f", "package-initialize", "-l", "check.el"]
    assert re.search(rf"5 .*HLO007\]: {TOLD}", said(command, tmp_path))
