"""PyHLO's structs of PJRT are those of XLA's header, which is in TensorFlow's wheel."""

import re
import subprocess
from pathlib import Path

import pytest

from emit_c.executable.toolchain import toolchain
from hlo_jax.abi import structs
from hlo_jax.abi.functions import FUNCTIONS
from hlo_jax.abi.members import members

tensorflow = pytest.importorskip("tensorflow", reason="needs TensorFlow: make frontends")

FOLDER = Path(tensorflow.__file__).parent / "include/xla/pjrt/c"
HOUR = Path(__file__).parents[2] / "docs/howto/first-hour-with-the-pjrt-library.md"


def compiles(source: str, folder: Path) -> None:
    (folder / "source.c").write_text(source)
    command = [toolchain().command[0], "-fsyntax-only", f"-I{FOLDER}", "source.c"]
    subprocess.run(command, cwd=folder, check=True)


def test_the_program_of_the_first_hour_compiles(tmp_path: Path) -> None:
    (source,) = re.findall(r"```c\n(.*?)```", HOUR.read_text(), re.DOTALL)
    compiles(source, tmp_path)


def test_members_are_where_xla_has_them(tmp_path: Path) -> None:
    """The wheel's header may be older; then members and functions at the end are not in it."""
    text = (FOLDER / "pjrt_c_api.h").read_text()
    named = {f"{name}_Args": struct for name, struct in FUNCTIONS.items() if struct is not None}
    named |= {"PJRT_Program": structs.PjrtProgram, "PJRT_ExecuteOptions": structs.ExecuteOptions}
    lines: list[str] = []
    for name, struct in named.items():
        found = re.search(
            rf"^(?:typedef )?struct {name} {{\n(.*?)^}}", text, re.DOTALL | re.MULTILINE
        )
        there = re.findall(r"(\w+)(?:\[\w+\])?;", found[1]) if found else []
        lines += [
            f"offsetof({name}, {member}) == {getattr(struct, member).offset}"
            for member in members(struct)
            if member in there
        ]
    assert len(lines) > 300
    first = "offsetof(PJRT_Api, PJRT_Error_Destroy)"
    lines += [
        f"offsetof(PJRT_Api, {name}) == {first} + {8 * k}"
        for k, name in enumerate(FUNCTIONS)
        if re.search(rf"_PJRT_API_STRUCT_FIELD\({name}\)", text)
    ]
    asserted = [f'_Static_assert({line}, "{line}");' for line in lines]
    compiles("\n".join(['#include "pjrt_c_api.h"', *asserted, ""]), tmp_path)
