"""A file of CUDA C, and what is known of it before a compiler reads it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_KERNEL = re.compile(
    r"__global__\s+(?:static\s+)?(?:void\s+)?(?:__launch_bounds__\s*\([^)]*\)\s*)?(?:void\s+)?"
    r"(\w+)\s*\("
)
_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


# A file of NVRTC, in which it takes the addresses of kernels; none is there after an error.
_NAMES_OF_NVRTC = "__nv_name_map"


@dataclass(frozen=True, slots=True)
class CudaFile:
    """A file of CUDA C.

    Attributes
    ----------
    name : for messages.
    """

    text: str
    name: str = "kernels.cu"

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of its kernels, in their order; templates are none until they are named."""
        found = dict.fromkeys(
            match[1]
            for match in _KERNEL.finditer(self._code)
            if not _is_template(self._code, match.start())
        )
        return tuple(found)

    @property
    def _code(self) -> str:
        """The text without comments and strings, with as many lines."""
        return _TEXT.sub(lambda match: "\n" * match[0].count("\n") + " ", self.text)

    def line(self, number: int) -> str:
        """A line of it, counted from 1; empty if there is none."""
        lines = self.text.splitlines()
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def about(self, number: int) -> str:
        """The HLO instruction that a line belongs to: the nearest comment `// hlo: ...` above."""
        for line in reversed(self.text.splitlines()[:number]):
            if "// hlo:" in line:
                return line.partition("// hlo:")[2].strip()
        return ""


def _is_template(code: str, position: int) -> bool:
    """Whether a kernel's definition begins with `template <...>`."""
    before = re.split(r"[;}]", code[:position])[-1]
    return bool(re.search(r"\btemplate\s*<", before))


def explained(messages: str, file: CudaFile, error: re.Pattern[str]) -> list[str]:
    """A compiler's errors, each with its place, the line, and the HLO that the line computes.

    Parameters
    ----------
    error : finds the file, the line's number and the message of an error.
    """
    notes: list[str] = []
    for where, number, message in error.findall(messages):
        if where == _NAMES_OF_NVRTC:
            continue
        line = file.line(int(number)) if where == file.name else ""
        notes.append(f"{where}:{number}: {message}" + (f": {line}" if line else ""))
        about = file.about(int(number)) if where == file.name else ""
        notes += [f"it computes {about}"] if about else []
    if "<<<" in file.text:
        notes.append("a launch with <<< >>> is no part of a kernel: leave the file's main() out")
    return notes[:20] or [messages.strip()[:2000]]
