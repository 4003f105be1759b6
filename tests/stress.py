"""Random schedules of collectives, in C: a program, or a library."""

import subprocess
from pathlib import Path

from emit_c.executable.runtime import FOLDER, LIBRARY, PROCESSES
from hlo.support.compiler import find_compiler


def build_stress(target: Path, *flags: str) -> Path:
    """Compile `emit_c/stress.c` with the runtime library."""
    sources = [FOLDER / name for name in (*LIBRARY, *PROCESSES)]
    command = [*find_compiler(), "-O1", *flags, f"-I{FOLDER}", "-o", str(target), "-pthread"]
    stress = Path(__file__).with_name("emit_c") / "stress.c"
    subprocess.run([*command, stress, *sources], check=True)
    return target
