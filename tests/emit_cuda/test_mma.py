"""PTX in a student's kernel: products, loads of matrices and copies are what the PTX ISA says.

References
----------
NVIDIA, *PTX ISA*, Matrix Fragments for mma.m16n8k8, mma.m16n8k16, mma.m16n8k32, mma.m16n8k64;
`ldmatrix`, `cp.async`.
"""

import ml_dtypes
import numpy as np
import pytest

import hlo
from emit_cuda import host, nvrtc

# For the elements i of a lane: the type, K, those of A and of B; their rows and columns as the ISA
# has them, where `group` is the lane / 4, and `own` the lane % 4.
ROW_OF_HALF, ROW_OF_QUARTER = "i < 2 || (4 <= i && i < 6)", "i < 4 || (8 <= i && i < 12)"
CASES = {
    "f16": ("f16", np.float16, 16, ROW_OF_HALF, "own * 2 + (i & 1) + (i < 4 ? 0 : 8)",
            "own * 2 + (i & 1) + (i < 2 ? 0 : 8)"),
    "bf16": ("bf16", ml_dtypes.bfloat16, 16, ROW_OF_HALF, "own * 2 + (i & 1) + (i < 4 ? 0 : 8)",
             "own * 2 + (i & 1) + (i < 2 ? 0 : 8)"),
    "bf16, short": ("bf16", ml_dtypes.bfloat16, 8, "i < 2", "own * 2 + (i & 1)", "own * 2 + i"),
    "tf32": ("tf32", np.float32, 8, "i == 0 || i == 2", "own + (i < 2 ? 0 : 4)",
             "own + (i == 0 ? 0 : 4)"),
    "s8": ("s8", np.int8, 32, ROW_OF_QUARTER, "own * 4 + (i & 3) + (i < 8 ? 0 : 16)",
           "own * 4 + (i & 3) + (i < 4 ? 0 : 16)"),
    "u8": ("u8", np.uint8, 32, ROW_OF_QUARTER, "own * 4 + (i & 3) + (i < 8 ? 0 : 16)",
           "own * 4 + (i & 3) + (i < 4 ? 0 : 16)"),
    "s8, short": ("s8", np.int8, 16, "i < 4", "own * 4 + (i & 3)", "own * 4 + i"),
    "e4m3": ("e4m3", ml_dtypes.float8_e4m3fn, 32, ROW_OF_QUARTER,
             "own * 4 + (i & 3) + (i < 8 ? 0 : 16)", "own * 4 + (i & 3) + (i < 4 ? 0 : 16)"),
    "e5m2": ("e5m2", ml_dtypes.float8_e5m2, 32, ROW_OF_QUARTER,
             "own * 4 + (i & 3) + (i < 8 ? 0 : 16)", "own * 4 + (i & 3) + (i < 4 ? 0 : 16)"),
}  # fmt: skip
SOURCE = """
extern "C" __global__ void {name}(const {word} *x, const {word} *y, const {sum} *z, {sum} *w) {{
  int lane = threadIdx.x, group = lane >> 2, own = lane % 4;
  union {{ {word} at[{of_a} * {each}]; unsigned all[{of_a}]; }} a;
  union {{ {word} at[{of_b} * {each}]; unsigned all[{of_b}]; }} b;
  for (int i = 0; i < {of_a} * {each}; ++i)
    a.at[i] = x[({row} ? group : group + 8) * {k} + {of_column}];
  for (int i = 0; i < {of_b} * {each}; ++i) b.at[i] = y[({of_row}) * 8 + group];
  {sum} c[4];
  for (int i = 0; i < 4; ++i) c[i] = z[(i < 2 ? group : group + 8) * 8 + own * 2 + (i & 1)];
  asm volatile("mma.sync.aligned.m16n8k{k}.row.col{satfinite}.{into}.{type}.{type}.{into} "
               "{{%0, %1, %2, %3}}, {{{a_names}}}, {{{b_names}}}, {{%0, %1, %2, %3}};\\n"
               : "+{r}"(c[0]), "+{r}"(c[1]), "+{r}"(c[2]), "+{r}"(c[3])
               : {registers});
  for (int i = 0; i < 4; ++i) w[(i < 2 ? group : group + 8) * 8 + own * 2 + (i & 1)] = c[i];
}}
"""


# The sums of halves are pairs in a register.
HALVES = """
extern "C" __global__ void halves(const unsigned short *x, const unsigned short *y,
                                  const unsigned *z, unsigned *w) {
  int lane = threadIdx.x, group = lane >> 2, own = lane % 4;
  unsigned short a[4], b[2];
  for (int i = 0; i < 4; ++i) a[i] = x[(i < 2 ? group : group + 8) * 8 + own * 2 + (i & 1)];
  for (int i = 0; i < 2; ++i) b[i] = y[(own * 2 + i) * 8 + group];
  unsigned c = z[group * 4 + own], d = z[(group + 8) * 4 + own];
  unsigned first, second;
  asm("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%5, %6};"
      : "=r"(first), "=r"(second)
      : "r"(a[0] | a[1] << 16), "r"(a[2] | a[3] << 16), "r"(b[0] | b[1] << 16), "r"(c), "r"(d));
  w[group * 4 + own] = first;
  w[(group + 8) * 4 + own] = second;
}
"""


def name_of(case, satfinite=""):
    """The kernel's name."""
    return (case + satfinite).replace(", ", "_").replace(".", "_")


def source_of(case, satfinite=""):
    """The kernel, for matrices of 16 x K, K x 8 and 16 x 8."""
    kind, dtype, k, row, of_column, of_row = CASES[case]
    size = np.dtype(dtype).itemsize
    of_a, of_b, whole = 16 * k * size // 128, 8 * k * size // 128, np.dtype(dtype).kind in "iu"
    names = [f"%{4 + n}" for n in range(of_a + of_b)]
    registers = [*(f'"r"(a.all[{n}])' for n in range(of_a))]
    registers += [*(f'"r"(b.all[{n}])' for n in range(of_b))]
    return SOURCE.format(
        name=name_of(case, satfinite),
        word={1: "unsigned char", 2: "unsigned short", 4: "unsigned"}[size],
        sum="int" if whole else "float", into="s32" if whole else "f32", r="r" if whole else "f",
        a_names=", ".join(names[:of_a]), b_names=", ".join(names[of_a:]),
        type=kind, k=k, row=row, of_column=of_column, of_row=of_row, satfinite=satfinite,
        of_a=of_a, of_b=of_b, each=4 // size, registers=", ".join(registers),
    )  # fmt: skip


SOURCES = "".join([*map(source_of, CASES), source_of("s8", ".satfinite"), HALVES])


def run(name, *arrays, checked):
    """Launch a warp; nothing must be found."""
    library = host.compile(SOURCES, checked=checked)
    memory = [host.NamedMemory(a.ctypes.data, a.nbytes, f"array {k}") for k, a in enumerate(arrays)]
    given = [a.ctypes.data for a in arrays]
    assert not library.launch(name, (1, 1, 1), (32, 1, 1), 0, given, memory=memory, seed=1)


def matrices(dtype, k):
    """A, B and C: small whole numbers of every sign, whose products are exact."""
    random, whole = np.random.default_rng(k), np.dtype(dtype).kind in "iu"
    low = 0 if np.dtype(dtype).kind == "u" else -8
    x, y = (random.integers(low, 8, dims).astype(dtype) for dims in ((16, k), (k, 8)))
    z = random.integers(-50, 50, (16, 8)).astype(np.int32 if whole else np.float32)
    return x, y, z


@pytest.mark.parametrize("checked", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("case", CASES)
def test_lanes_hold_what_the_instruction_set_says(case, checked):
    x, y, z = matrices(*CASES[case][1:3])
    w = np.empty_like(z)
    run(name_of(case), x, y, z, w, checked=checked)
    np.testing.assert_array_equal(w, x.astype(z.dtype) @ y.astype(z.dtype) + z)


@pytest.mark.parametrize(("satfinite", "expected"), [("", -(2**31)), (".satfinite", 2**31 - 1)])
def test_sums_of_integers_wrap_or_saturate(satfinite, expected):
    x, y, z = matrices(np.int8, 32)
    x[:], y[:], z[:], w = 0, 0, 2**31 - 1, np.empty_like(z)
    x[:, 0], y[0] = 1, 1
    run(name_of("s8", satfinite), x, y, z, w, checked=True)
    assert (w == expected).all()


def test_sums_of_halves_are_pairs():
    x, y, z = (m.astype(np.float16) for m in matrices(np.float16, 8))
    w = np.empty_like(z)
    run("halves", x, y, z, w, checked=True)
    np.testing.assert_array_equal(w, x @ y + z)


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
def test_the_kernels_compile(architecture):
    # Floats of 8 bits come with sm_89.
    cases = [case for case in CASES if architecture != "sm_80" or not case.startswith("e")]
    assert nvrtc.compile("".join([*map(source_of, cases), HALVES]), architecture)


MATRICES = """
extern "C" __global__ void matrices(const unsigned short *x, unsigned *y, unsigned *z) {
  __shared__ __align__(16) unsigned short tile[32 * 8];
  int lane = threadIdx.x;
  for (int i = lane; i < 32 * 8; i += 32) tile[i] = x[i];
  __syncwarp();
  unsigned place = (unsigned)__cvta_generic_to_shared(tile + lane * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(y[lane]), "=r"(y[32 + lane]), "=r"(y[64 + lane]), "=r"(y[96 + lane])
               : "r"(place));
  unsigned first, second;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(first), "=r"(second) : "r"(place) : "memory");
  z[lane] = first;
  z[32 + lane] = second;
}
"""


@pytest.mark.parametrize("checked", [False, True])
def test_matrices_are_loaded_as_the_instruction_set_says(checked):
    """A lane has two neighbours of row `lane / 4` of each; of columns, where they are turned."""
    x = np.arange(256, dtype=np.uint16).reshape(4, 8, 8)
    y, z = np.zeros((4, 32), np.uint32), np.zeros((2, 32), np.uint32)
    library = host.compile(MATRICES, checked=checked)
    memory = [host.NamedMemory(a.ctypes.data, a.nbytes, "array") for a in (x, y, z)]
    given = [a.ctypes.data for a in (x, y, z)]
    assert not library.launch("matrices", (1, 1, 1), (32, 1, 1), 0, given, memory=memory, seed=1)
    np.testing.assert_array_equal(y.view(np.uint16).reshape(4, 8, 8), x)
    np.testing.assert_array_equal(z.view(np.uint16).reshape(2, 8, 8), x[:2].transpose(0, 2, 1))


COPIES = """
extern "C" __global__ void copies(const float *x, float *y, int count) {
  __shared__ __align__(16) float tile[2][4];
  unsigned first = (unsigned)__cvta_generic_to_shared(tile[0]);
  unsigned second = (unsigned)__cvta_generic_to_shared(tile[1]);
  for (int i = 0; i < 8; ++i) tile[i / 4][i % 4] = -1;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(first), "l"(x) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;"
               :: "r"(second), "l"(x + 4), "r"(count) : "memory");
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 1;" ::: "memory");
  for (int i = 0; i < 8; ++i) y[i] = tile[i / 4][i % 4];
  asm volatile("cp.async.wait_all;" ::: "memory");
  for (int i = 0; i < 8; ++i) y[8 + i] = tile[i / 4][i % 4];
}
"""


@pytest.mark.parametrize("checked", [False, True])
def test_copies_are_there_when_their_thread_has_waited(checked):
    """As late as may be: the second group is not there before all are waited for."""
    x, y = np.arange(8, dtype=np.float32), np.zeros(16, np.float32)
    library = host.compile(COPIES, checked=checked)
    memory = [host.NamedMemory(a.ctypes.data, a.nbytes, "array") for a in (x, y)]
    given = x.ctypes.data, y.ctypes.data, np.int32(4)
    assert not library.launch("copies", (1, 1, 1), (1, 1, 1), 0, given, memory=memory, seed=1)
    assert list(y[:8]) == [0, 1, 2, 3, -1, -1, -1, -1]
    assert list(y[8:]) == [0, 1, 2, 3, 4, 0, -1, -1]


def test_copies_reach_out_of_no_array():
    x, y = np.arange(5, dtype=np.float32), np.zeros(16, np.float32)
    library = host.compile(COPIES, checked=True)
    memory = [host.NamedMemory(a.ctypes.data, a.nbytes, name) for a, name in ((x, "x"), (y, "y"))]
    given = x.ctypes.data, y.ctypes.data, np.int32(8)
    found = library.launch("copies", (1, 1, 1), (1, 1, 1), 0, given, memory=memory, seed=1)
    assert {each.fault for each in found} == {"out of bounds"}


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
def test_loads_and_copies_compile():
    assert nvrtc.compile(MATRICES + COPIES, "sm_80")


def test_other_inline_ptx_is_refused():
    source = 'extern "C" __global__ void f() { asm("membar.gl;"); }'
    with pytest.raises(hlo.HloError, match="refuses the CUDA file"):
        host.compile(source)
