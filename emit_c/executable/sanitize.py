"""A run in a process of its own that watches every access and every operation.

The module is built ahead of time with the compiler's AddressSanitizer and
UndefinedBehaviorSanitizer, and a program around it reads arguments from files and writes results to
files. Each argument and each result is allocated by itself, so that a step over its end is seen.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from codegen.file_text import EmittedLine, line_at
from emit_c.code.foreign import linked
from emit_c.executable.ahead import files, signature
from emit_c.executable.calling import converted, nested, nesting
from emit_c.executable.compilers import explain
from emit_c.executable.toolchain import MEANING, OPTIMIZED, toolchain
from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from emit_c.executable.ahead import ArrayParameter, FunctionSignature
    from hlo.instruction import Module

FLAGS = (
    *("-fsanitize=address,undefined,float-cast-overflow", "-fno-omit-frame-pointer", "-g", "-w"),
    "-pthread",
)
_UNDEFINED = re.compile(r"^\S*?module\.c:(\d+):\d+: runtime error: (.*)$", re.MULTILINE)
_ADDRESS = re.compile(r"^==\d+==ERROR: (.*?)(?: on (?:unknown )?address.*)?$", re.MULTILINE)
_FRAME = re.compile(r"^\s+#\d+ \S+ in \w+ \S*?module\.c:(\d+)", re.MULTILINE)
_NAME = "module"


@dataclass(frozen=True, slots=True)
class SanitizerFinding:
    """Something that must not happen.

    Attributes
    ----------
    message : the sanitizer's.
    line : of the C, and its kernel.
    """

    message: str
    line: EmittedLine | None

    def __str__(self) -> str:
        """The message, the line, and the HLO of the kernel."""
        if self.line is None:
            return self.message
        about = "".join(f"\n    {line}" for line in self.line.about)
        return f"{self.message}\n  {self.line}{about}"


@dataclass(frozen=True, slots=True)
class SanitizerReport:
    """The report of a run under sanitizers.

    Attributes
    ----------
    value : the module's value; None if the run came to no end.
    """

    value: Any
    findings: tuple[SanitizerFinding, ...]


def sanitize(
    module: Module,
    arguments: Sequence[Any] = (),
    *,
    per_device: Sequence[Sequence[Any]] | None = None,
    seconds: float = 600,
) -> SanitizerReport:
    """Build an optimized module with sanitizers, and run it.

    Parameters
    ----------
    per_device : instead of `arguments`: those of each device, which run together.

    Returns
    -------
    SanitizerReport
        its value is a list with `per_device`.

    Raises
    ------
    HloError
        HLO110 to HLO112 if the arguments do not fit, HLO180 to HLO182 as `emit_c.compile`, HLO183
        if the run ends without a value and without a finding.
    """
    inputs = [converted(module.entry, (), *arguments) for arguments in per_device or [arguments]]
    if per_device is None:
        # One device, as a module for several may be run by a device alone.
        alone = {"replica_count": 1, "num_partitions": 1}
        module = replace(module, header=replace(module.header, **alone))
    head = signature(module, _NAME)
    with tempfile.TemporaryDirectory(prefix="pyhlo-") as name:
        folder = Path(name)
        source = _build(module, head, folder)
        for device, arrays in enumerate(inputs):
            for number, array in enumerate(arrays):
                if array is not None:
                    (folder / f"in{number}_{device}").write_bytes(array.tobytes())
        output, status = _run(folder, seconds)
        errors = findings(output, source)
        if status == 0:
            values = [_value(module, head, folder, device) for device in range(len(inputs))]
            return SanitizerReport(values[0] if per_device is None else values, errors)
    if not errors:
        message = f"the watched run ended with status {status}"
        raise HloError("HLO183", message, notes=[output.strip()[-2000:]] if output.strip() else ())
    return SanitizerReport(None, errors)


def findings(output: str, source: str) -> tuple[SanitizerFinding, ...]:
    """The findings of the sanitizers, each line once."""
    every = [
        SanitizerFinding(m, line_at(source, int(line))) for line, m in _UNDEFINED.findall(output)
    ]
    for error in _ADDRESS.finditer(output):
        frame = _FRAME.search(output, error.end())
        every.append(SanitizerFinding(error[1], line_at(source, int(frame[1])) if frame else None))
    return tuple({(f.line and f.line.line, f.message.split(":")[0]): f for f in every}.values())


def _build(module: Module, head: FunctionSignature, folder: Path) -> str:
    """Write the program and compile it; gives the text of the module's file."""
    texts = files(module, _NAME)
    texts["main.c"] = _main(head)
    for name, text in texts.items():
        (folder / name).write_text(text)
    units = [str(folder / n) for n in texts if n.endswith(".c") and n != "example.c"]
    lapack = linked() if "PYHLO_LAPACK" in texts[f"{_NAME}.c"] else ()
    flags = (*MEANING, *OPTIMIZED, *FLAGS)
    command = [*toolchain().command, *flags, "-o", str(folder / "main"), *units, *lapack, "-lm"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        notes = explain(result.stderr, texts[f"{_NAME}.c"])
        raise HloError("HLO182", "the C compiler refuses the emitted code", notes=notes)
    return texts[f"{_NAME}.c"]


def _main(head: FunctionSignature) -> str:
    """A program that reads the files in0_0, in1_0, ..., and writes out0_0, out1_0, ....

    Each array has the files of all devices: in0_1 is that of device 1.
    """
    reads = "".join(_lines("in", k, a, head) for k, a in enumerate(head.inputs) if a)
    makes = "".join(_lines("out", k, a, head) for k, a in enumerate(head.outputs) if a)
    writes = "".join(
        f'  put("out{k}_{d}", {_of(a, d, head)}, {_bytes(a)});\n'
        for k, a in enumerate(head.outputs) if a for d in range(head.devices)
    )  # fmt: skip
    frees = "".join(
        f"  free({_of(a, d, head)});\n" for a in head.inputs if a for d in range(head.devices)
    )
    cast = head.devices > 1
    names = [f"(const {a.type} *const *){a.name}" if cast else a.name for a in head.inputs if a]
    names += [a.name for a in head.outputs if a]
    return f"""#include "{head.name}.h"
#include <stdio.h>
#include <stdlib.h>

static void *get(const char *name, size_t size) {{
  void *memory = malloc(size);
  FILE *file = fopen(name, "rb");
  if (file && fread(memory, 1, size, file) != size) exit(3);
  if (file) fclose(file);
  return memory;
}}

static void put(const char *name, void *memory, size_t size) {{
  FILE *file = fopen(name, "wb");
  if (!file || fwrite(memory, 1, size, file) != size) exit(3);
  fclose(file);
  free(memory);
}}

int main(void) {{
{reads}{makes}  int status = {head.name}({", ".join([*names, "0"])});
  if (status) return status;
{writes}{frees}  return 0;
}}
"""


def _of(array: ArrayParameter, device: int, head: FunctionSignature) -> str:
    return f"{array.name}[{device}]" if head.devices > 1 else array.name


def _lines(kind: str, number: int, array: ArrayParameter, head: FunctionSignature) -> str:
    """The arrays of all devices, read from their files."""
    several = f"[{head.devices}]" if head.devices > 1 else ""
    declared = "".join(
        f'  {_of(array, d, head)} = get("{kind}{number}_{d}", {_bytes(array)});\n'
        for d in range(head.devices)
    )
    return f"  {array.type} *{array.name}{several};\n{declared}"


def _bytes(array: ArrayParameter) -> int:
    return array.size * array.shape.element_type.bytes


def _run(folder: Path, seconds: float) -> tuple[str, int]:
    """Run the program; gives its output and its status."""
    options = {"ASAN_OPTIONS": "abort_on_error=0:exitcode=99", "UBSAN_OPTIONS": "halt_on_error=0"}
    try:
        result = subprocess.run(
            [str(folder / "main")], cwd=folder, env={**os.environ, **options}, check=False,
            capture_output=True, text=True, errors="replace", timeout=seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise HloError("HLO183", f"the watched run takes longer than {seconds:g} s") from error
    return result.stderr, result.returncode


def _value(module: Module, head: FunctionSignature, folder: Path, device: int) -> Any:
    """The module's value on a device, from the files that the program wrote."""
    leaves = (
        _read(folder / f"out{k}_{device}", array) if array else None
        for k, array in enumerate(head.outputs)
    )
    return nested(nesting(module.entry.root.shape), leaves)


def _read(path: Path, array: ArrayParameter) -> NDArray[Any]:
    numbers = np.frombuffer(path.read_bytes(), array.shape.element_type.dtype)
    return numbers.reshape(array.shape.dims)
