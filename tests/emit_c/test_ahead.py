"""The C files of a module: their function, its documentation, its names."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import hlo
import optimizer
from emit_c.executable.ahead import files, signature
from emit_c.executable.runtime import c_files
from emit_c.executable.toolchain import MEANING
from hlo.support.compiler import find_compiler
from interpreter import evaluate
from interpreter.custom_calls.lapack import PREFIX, library_file

NUMBERS = ", ".join(str(n) for n in range(2000))
MODULE = f"""HloModule m
ENTRY e {{
  x = f32[2000] parameter(0)
  flags = (pred[3], bf16[3], token[]) parameter(1)
  p = pred[3] get-tuple-element(flags), index=0
  h = bf16[3] get-tuple-element(flags), index=1
  large = f32[2000] constant({{{NUMBERS}}})
  y = f32[2000] add(x, large)
  n = pred[3] not(p)
  ROOT r = (f32[2000], pred[3], bf16[3]) tuple(y, n, h)
}}"""
CALLER = """#include "{0}.h"
#include "{0}.h"
#include <stdio.h>
#include <stdlib.h>
static float given[2000], taken[2000];
int main(void) {{
  uint8_t p[3] = {{1, 0, 1}}, n[3];
  uint16_t h[3] = {{1, 2, 3}}, same[3];
  for (int i = 0; i < 2000; i++) given[i] = i * 0.5f;
  if ({0}(given, p, h, taken, n, same, 0)) return 1;
  void *workspace = malloc({0}_workspace() + 64);
  void *aligned = (void *)(((uintptr_t)workspace + 63) / 64 * 64);
  if ({0}(given, p, h, taken, n, same, aligned)) return 1;
  free(workspace);
  for (int i = 0; i < 2000; i++) printf("%a ", taken[i]);
  printf("%d %d %d %d %d %d\\n", n[0], n[1], n[2], same[0], same[1], same[2]);
}}
"""


SEVERAL = """HloModule m, replica_count=3
add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[4] parameter(0)
  me = u32[] replica-id()
  s = f32[4] all-reduce(x), to_apply=add
  g = f32[12] all-gather(x), dimensions={0}
  ROOT r = (f32[4], f32[12], u32[]) tuple(s, g, me)
}"""


def test_several_devices_are_threads_of_the_program(tmp_path):
    """The example gives device d the numbers d - 1, d - 0.75, ...."""
    write(files(hlo.parse(SEVERAL), "m"), tmp_path)
    subprocess.run(["make", "-s", "CFLAGS=-O1 -Werror"], cwd=tmp_path, check=True)
    shown = subprocess.run([tmp_path / "example"], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines() == [
        "result: 0 0.75 1.5 2.25",
        "result_1: -1 -0.75 -0.5 -0.25 0 0.25 0.5 0.75",
        "result_2: 0",
    ]


# Names of files beside the module's, and what the headers of C mean by themselves.
CLASHES = ["runtime", "Runtime", "example", "Makefile", "size_t", "uint8_t", "NULL", "EOF"]
MEANT = ["NAN", "I", "calloc", "memcpy", "once", "free", "size_t", "int64_t", "class", "NULL"]


def write(made, folder):
    for file, text in made.items():
        (folder / file).write_text(text)


@pytest.mark.parametrize("name", ["m", "exp", "int", "main", "run", "a.b-c", "x"])
def test_a_program_in_c_gets_the_same_values(name, tmp_path):
    made = files(hlo.parse(MODULE), name)
    (header,) = (n for n in made if n.endswith(".h") and n != "runtime.h")
    function = header.removesuffix(".h")
    made["caller.c"] = CALLER.format(function)
    write(made, tmp_path)
    units = [f"{function}.c", "runtime.c", "caller.c"]
    command = [*find_compiler(), *MEANING, "-Wall", "-Wextra", "-Werror", "-fopenmp-simd", "-O1"]
    subprocess.run(
        [*command, "-o", "caller", *units, "-lm", "-pthread"],
        cwd=tmp_path, check=True,
    )  # fmt: skip
    shown = subprocess.run([tmp_path / "caller"], capture_output=True, text=True, check=True)
    numbers = shown.stdout.split()
    x = np.arange(2000, dtype=np.float32) * np.float32(0.5)
    arrays = (np.array([1, 0, 1], bool), np.zeros(3, "bfloat16"), None)
    want = evaluate(hlo.parse(MODULE), x, arrays)
    assert [float.fromhex(n) for n in numbers[:2000]] == want[0].tolist()
    assert numbers[2000:] == ["0", "1", "0", "1", "2", "3"]


def test_the_header_says_what_the_arrays_are():
    made = files(hlo.parse(MODULE), "m")
    assert re.search(r"^//   x: f32\[2000\], 2000 elements$", made["m.h"], re.MULTILINE)
    assert re.search(r"^//   flags_1: bf16\[3\], 3 elements, as its bytes$", made["m.h"], re.M)
    assert (
        "const float *x, const uint8_t *flags, const uint16_t *flags_1, float *result"
        in made["m.h"]
    )


@pytest.mark.skipif(not shutil.which("c++"), reason="there is no C++ compiler")
def test_the_header_is_c_plus_plus_too(tmp_path):
    (tmp_path / "m.h").write_text(files(hlo.parse(MODULE), "m")["m.h"])
    (tmp_path / "a.cc").write_text('#include "m.h"\nint main() { return m_workspace() == 0; }\n')
    subprocess.run(["c++", "-Wall", "-Wextra", "-Werror", "-c", "a.cc"], cwd=tmp_path, check=True)


def test_names_from_hlo_stay_names():
    text = "HloModule m\nENTRY e {\n  int = f32[] parameter(0)\n  ROOT main = f32[] negate(int)\n}"
    head = signature(hlo.parse(text), 'x"; int evil')
    assert re.fullmatch(r"\w+", head.name)
    assert head.parameters == "const float *int_1, float *result, void *workspace"


# A function of LAPACK and one of BLAS, and an instruction that has the name of the first.
LAPACK = """HloModule m
ENTRY e {
  LAPACKE_sgetrf = f32[3,3] parameter(0)
  y = f32[3,2] parameter(1)
  g = (f32[3,3], s32[3], s32[]) custom-call(LAPACKE_sgetrf),
    custom_call_target="lapack_sgetrf_ffi", api_version=API_VERSION_TYPED_FFI
  a = f32[3,3] get-tuple-element(g), index=0
  s = f32[3,2] custom-call(a, y), custom_call_target="lapack_strsm_ffi",
    backend_config="{side = 76 : ui8, uplo = 85 : ui8, trans_x = 78 : ui8, diag = 78 : ui8}"
  ROOT r = ((f32[3,3], s32[3], s32[]), f32[3,2]) tuple(g, s)
}"""
LAPACK_CALLER = """#include "m.h"
#include <stdio.h>
int main(void) {
  float a[9] = {1, 2, 3, 4, 5, 6, 7, 8, 10}, b[6] = {1, 2, 3, 4, 5, 6}, lu[9], x[6];
  int32_t pivots[3], info;
  if (m(a, b, lu, pivots, &info, x, 0)) return 1;
  for (int i = 0; i < 9; i++) printf("%a ", lu[i]);
  for (int i = 0; i < 6; i++) printf("%a ", x[i]);
  printf("%d %d %d %d\\n", pivots[0], pivots[1], pivots[2], info);
}
"""


def test_lapack_is_linked(tmp_path):
    # What the Makefile builds is the example.
    write(files(hlo.parse(LAPACK), "m") | {"example.c": LAPACK_CALLER}, tmp_path)
    library = library_file()
    subprocess.run(
        ["make", "-s", "example", "CFLAGS=-O1 -Werror", f"CC={shlex.join(find_compiler())}",
         f"LAPACKLIBS={library} -Wl,-rpath,{library.parent}", f"LAPACKNAME={PREFIX}##name"],
        cwd=tmp_path, check=True,
    )  # fmt: skip
    shown = subprocess.run([tmp_path / "example"], capture_output=True, text=True, check=True)
    a = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 10]], np.float32)
    b = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    (lu, pivots, info), x = evaluate(hlo.parse(LAPACK), a, b)
    numbers = shown.stdout.split()
    assert [float.fromhex(n) for n in numbers[:15]] == [*lu.flat, *x.flat]
    assert [int(n) for n in numbers[15:]] == [*pivots.tolist(), int(info)]


def test_no_line_is_empty_without_need():
    for name, text in files(hlo.parse(MODULE), "m").items():
        assert "\n\n\n" not in text, name
        assert not text.startswith("\n"), name


def test_only_what_calls_lapack_is_linked_with_it():
    for text in files(hlo.parse(MODULE), "m").values():
        assert "LAPACK" not in text


def test_the_makefile_makes_everything_and_the_example_computes(tmp_path):
    text = "HloModule m\nENTRY e { x = f32[9] parameter(0) i = s32[4] parameter(1) "
    text += "y = f32[9] negate(x) ROOT r = (f32[9], s32[4]) tuple(y, i) }"
    write(files(hlo.parse(text), "m"), tmp_path)
    made = subprocess.run(
        ["make", "all"], cwd=tmp_path, capture_output=True, text=True, check=True
    )  # fmt: skip
    assert "warning" not in made.stdout + made.stderr
    assert (tmp_path / "libm.so").exists()
    shown = subprocess.run([tmp_path / "example"], capture_output=True, text=True, check=True)
    first, second = shown.stdout.splitlines()
    assert first.split()[1:5] == ["1", "0.75", "0.5", "0.25"]
    assert second.split()[1:] == ["0", "1", "2", "0"]


@pytest.mark.parametrize("name", CLASHES)
def test_no_file_takes_the_place_of_another(name, tmp_path):
    made = files(hlo.parse(MODULE), name)
    assert len({n.lower() for n in made}) == len(made) == 6
    assert made["runtime.c"] == c_files()["runtime.c"]
    write(made, tmp_path)
    subprocess.run(["make"], cwd=tmp_path, check=True, capture_output=True)


@pytest.mark.parametrize("compiler", ["cc", "c++"])
def test_parameters_mean_nothing_to_headers(compiler, tmp_path):
    lines = [f"  {name} = f32[4] parameter({k})" for k, name in enumerate(MEANT)]
    listed = ", ".join(MEANT)
    text = "\n".join(["HloModule m", "ENTRY e {", *lines, f"  ROOT t = tuple({listed})", "}"])
    write(files(hlo.parse(text), "m"), tmp_path)
    if compiler == "cc":
        subprocess.run(["make"], cwd=tmp_path, check=True, capture_output=True)
    elif shutil.which(compiler):
        (tmp_path / "m.cc").write_text('#include "m.h"\n')
        command = [compiler, "-Wall", "-Werror", "-fsyntax-only", "m.cc"]
        subprocess.run(command, cwd=tmp_path, check=True)


MODELS = sorted((Path(__file__).parents[1] / "models").glob("*.hlo"))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_models_compile_without_warnings(path, tmp_path):
    """Under the flags of their own Makefile, with all loops and sums of the optimizer's kernels."""
    write(files(optimizer.optimize(hlo.load(path), target="cpu"), "m"), tmp_path)
    words = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-fopenmp-simd", "m.c"]
    command = [*find_compiler(), *MEANING, *words]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
