"""Faults of compilers that some tests meet, each found by trying it."""

import subprocess
import tempfile
from functools import cache

from hlo.support.compiler import find_compiler

PROGRAM = """
static __attribute__((noinline)) float below(float x) { return x < 0.0f ? -0.0f : x; }
int main(void) { volatile float zero = 0; return __builtin_signbit(below(zero)) != 0; }
"""


@cache
def loses_zeros() -> bool:
    """Whether the compiler makes `x <= 0 ? -0 : x` of `x < 0 ? -0 : x`, as clang 14 and 15 do."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*find_compiler(), "-O1", "-x", "c", "-o", f"{folder}/made", "-"]
        subprocess.run(command, input=PROGRAM, text=True, check=True)
        return bool(subprocess.run([f"{folder}/made"], check=False).returncode)
