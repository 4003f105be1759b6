"""A file of CUDA C, with the names and sizes known before a compiler reads it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_KERNEL = re.compile(
    r"__global__\s+(?:static\s+)?(?:void\s+)?(?:__launch_bounds__\s*\([^)]*\)\s*)?(?:void\s+)?"
    r"(\w+)\s*\("
)
# A line of the comment above an emitted kernel.
_INSTRUCTION = re.compile(r"// (?:ROOT )?%([\w.\-]+) = ")
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
        """The HLO instruction that a line computes; empty if no comment tells.

        That is the nearest `// hlo: ...` above. In emitted files it is an instruction of the
        comment above the kernel: the one whose name a word of the line has, else the last.
        """
        above = self.text.splitlines()[:number]
        for k in range(len(above) - 1, -1, -1):
            if "// hlo:" in above[k]:
                return above[k].partition("// hlo:")[2].strip()
            if _INSTRUCTION.match(above[k]):
                return _instruction_of(above[-1], above[: k + 1])
        return ""


def _instruction_of(line: str, above: Sequence[str]) -> str:
    """The instruction of a line, of those that the last comment lines above its kernel list."""
    listed: dict[str, str] = {}
    for comment in reversed(above):
        match = _INSTRUCTION.match(comment)
        if not match:
            break
        listed[re.sub(r"\W", "_", match[1])] = comment.removeprefix("// ")
    named = (listed[word] for word in re.findall(r"\w+", line) if word in listed)
    return next(named, next(iter(listed.values())))


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
