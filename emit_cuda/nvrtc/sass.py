"""The instructions of a cubin as a GPU runs them, by NVIDIA's disassembler."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from emit_cuda.nvrtc.library import tool
from hlo.errors.error import HloError


def sass(code: bytes) -> str:
    """The SASS of a cubin, as text.

    Raises
    ------
    HloError
        HLO195 if there is no nvdisasm, or it refuses the cubin.
    """
    disassembler = tool("nvdisasm") or shutil.which("nvdisasm")
    if not disassembler:
        notes = [
            "pip install nvidia-cuda-nvdisasm, or install NVIDIA's toolkit",
            "`--stage ptx` shows the instructions before they are assembled",
        ]
        raise HloError("HLO195", "there is no nvdisasm, which shows SASS", notes=notes)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        Path(file.name).write_bytes(code)
        command = [str(disassembler), "--print-code", file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        notes = done.stderr.strip().splitlines()[:3]
        raise HloError("HLO195", "nvdisasm refuses the cubin", notes=notes)
    return done.stdout
