"""A file of CUDA C, with the names and sizes known before a compiler reads it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from codegen.file_text import FileText, section_at

_KERNEL = re.compile(
    r"__global__\s+(?:static\s+)?(?:void\s+)?(?:__launch_bounds__\s*\([^)]*\)\s*)?(?:void\s+)?"
    r"(\w+)\s*\("
)
# What people write above lines, to tell which instruction they compute.
_HLO = "// hlo:"
_TEMPLATE = re.compile(r"\btemplate\s*<")
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
        code = self._code
        names = (m[1] for m in _KERNEL.finditer(code) if not _is_template(code, m.start()))
        return tuple(dict.fromkeys(names))

    @property
    def _code(self) -> str:
        """The text without comments and strings, with as many lines."""
        return _TEXT.sub(lambda match: "\n" * match[0].count("\n") + " ", self.text)

    def line(self, number: int) -> str:
        """A line of it, counted from 1; empty if there is none."""
        lines = self.text.splitlines()
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def about(self, number: int) -> str:
        """The HLO instruction that a line computes; empty if nothing tells.

        In files that people write, that is the nearest `// hlo: ...` above.
        """
        if isinstance(self.text, FileText):
            section, line = section_at(self.text, number)
            return section.instruction(line)
        above = reversed(self.text.splitlines()[:number])
        return next((row.partition(_HLO)[2].strip() for row in above if _HLO in row), "")


def _is_template(code: str, position: int) -> bool:
    """Whether a kernel's definition begins with `template <...>`."""
    begin = max(code.rfind(end, 0, position) for end in ";}")
    return bool(_TEMPLATE.search(code, begin + 1, position))


def explained(messages: str, file: CudaFile, error: re.Pattern[str]) -> list[str]:
    """A compiler's errors, each with its line number, the line, and the HLO that the line computes.

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
