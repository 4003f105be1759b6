"""Arguments in, results out: where their memory is, and who may use it when."""

import gc
import pickle
import re
import signal
import weakref
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import emit_c
import hlo
from emit_c.executable import runtime as runtimes
from hlo.support import dlpack

DOUBLE = """HloModule m
ENTRY e {{
  x = {0}[{1}] parameter(0)
  ROOT y = {0}[{1}] add(x, x)
}}"""
PAIR = """HloModule m
ENTRY e {
  p = (f32[3], (s32[], token[])) parameter(0)
  x = f32[3] get-tuple-element(p), index=0
  q = (s32[], token[]) get-tuple-element(p), index=1
  n = s32[] get-tuple-element(q), index=0
  t = token[] get-tuple-element(q), index=1
  inner = (s32[], token[], f32[3]) tuple(n, t, x)
  y = f32[3] negate(x)
  ROOT r = (f32[3], (s32[], token[], f32[3])) tuple(y, inner)
}"""
ENDLESS = """HloModule m
holds { s = (s64[]) parameter(0)  i = s64[] get-tuple-element(s), index=0
  z = s64[] constant(-1)  ROOT c = pred[] compare(i, z), direction=GT }
iteration { s = (s64[]) parameter(0)  i = s64[] get-tuple-element(s), index=0
  one = s64[] constant(1)  many = s64[] constant(1000)  j = s64[] add(i, one)
  k = s64[] remainder(j, many)  ROOT r = (s64[]) tuple(k) }
ENTRY e { i = s64[] parameter(0)  s = (s64[]) tuple(i)
  ROOT w = (s64[]) while(s), condition=holds, body=iteration }"""


pytestmark = pytest.mark.usefixtures("way")


def double(size="3", kind="f32"):
    return emit_c.compile(hlo.parse(DOUBLE.format(kind, size)), optimize=False)


def test_results_begin_elsewhere_in_a_page_than_arguments(way):
    """A load waits for a store before it if their addresses end in the same 12 bits."""
    if way == "ctypes":
        pytest.skip("there, results are arrays of NumPy")
    text = (
        "HloModule m\nENTRY e { x = f32[5000] parameter(0)  y = f32[5000] negate(x)\n"
        "z = f32[5000] add(x, x)  ROOT r = (f32[5000], f32[5000]) tuple(y, z) }"
    )
    results = emit_c.compile(hlo.parse(text), optimize=False)(np.ones(5000, np.float32))
    assert [r.ctypes.data % 4096 for r in results] == [1024, 2048]


@pytest.mark.parametrize("size", ["", "0", "3", "4,5", "100,200"])
def test_arrays_of_all_ranks_and_sizes(size):
    dims = tuple(int(n) for n in size.split(",") if n)
    x = np.arange(np.prod(dims), dtype=np.float32).reshape(dims)
    result = double(size)(x)
    assert isinstance(result, np.ndarray)
    assert result.shape == dims
    assert (result == x + x).all()
    assert result.flags.carray


def test_tuples_and_tokens_are_nested_as_the_module_says():
    executable = emit_c.compile(hlo.parse(PAIR), optimize=False)
    x = np.array([1, 2, 3], np.float32)
    y, (n, token, same) = executable((x, (7, None)))
    assert (n, token) == (7, None)
    assert (y == -x).all()
    assert (same == x).all()


def test_numbers_and_lists_become_arrays():
    assert double("")(1.5) == 3
    assert (double()([1, 2, 3]) == [2, 4, 6]).all()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [((), "HLO110"), ((np.zeros(3, np.float32),) * 2, "HLO110"),
     ((np.zeros(4, np.float32),), "HLO111"), ((np.zeros(3),), "HLO112")],
)  # fmt: skip
def test_what_does_not_fit_is_refused(arguments, code):
    with pytest.raises(hlo.HloError) as caught:
        double()(*arguments)
    assert caught.value.code == code


def test_arguments_have_no_names():
    with pytest.raises(TypeError):
        double()(x=np.zeros(3, np.float32))


def test_gaps_other_orders_and_odd_addresses_are_no_obstacle():
    executable = double("3,4")
    x = np.arange(24, dtype=np.float32).reshape(3, 8)
    odd = np.frombuffer(b"\0" + x[:, :4].tobytes(), np.uint8)[1:].view(np.float32).reshape(3, 4)
    assert not odd.flags.aligned
    for given in (x[:, ::2], np.asfortranarray(x[:, :4]), x[::-1, :4], odd):
        assert (executable(given) == given * 2).all()


def test_equal_types_of_other_names_are_taken():
    assert double(kind="s64")(np.ones(3, np.longlong)).sum() == 6


def test_types_that_were_pickled_are_taken():
    given = pickle.loads(pickle.dumps(np.ones(3, np.float32)))
    assert given.dtype is not np.dtype(np.float32)
    assert double()(given).tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("kind", "number"),
    [("f32", np.float32(1.5)), ("s64", np.int64(3)), ("f64", np.float64(0.1)),
     ("bf16", ml_dtypes.bfloat16(1.5)), ("c64", np.complex64(1j)), ("u8", np.uint8(7))],
)  # fmt: skip
def test_scalars_are_arrays_of_rank_0(kind, number):
    result = double("", kind)(number)
    assert isinstance(result, np.ndarray)
    assert (result.shape, result.dtype) == ((), np.asarray(number).dtype)
    assert result == number + number


def test_scalars_of_other_types_are_refused():
    with pytest.raises(hlo.HloError, match="argument 0, %x: s64 instead of f32") as caught:
        double("")(np.int64(1))
    assert caught.value.code == "HLO112"


def test_one_unusual_argument_leaves_the_others_where_they_are():
    text = """HloModule m
ENTRY e {
  x = f32[3] parameter(0)
  n = f32[] parameter(1)
  y = f32[3] parameter(2)
  b = f32[3] broadcast(n), dimensions={}
  z = f32[3] multiply(x, b)
  ROOT r = f32[3] add(z, y)
}"""
    executable = emit_c.compile(hlo.parse(text), optimize=False)
    x, y = np.arange(3, dtype=np.float32), np.ones(6, np.float32)
    for n in (2, 2.0, np.float32(2), np.array(2, np.float32)):
        assert executable(x, n, y[::2]).tolist() == [1, 3, 5]
        assert executable([0, 1, 2], n, y[:3]).tolist() == [1, 3, 5]
    with pytest.raises(hlo.HloError, match="argument 1, %n"):
        executable(x, x, y[:3])
    with pytest.raises(hlo.HloError, match="argument 2, %y"):
        executable(x, 2, y)


def test_subclasses_of_arrays_are_taken():
    class Own(np.ndarray):
        pass

    result = double()(np.ones(3, np.float32).view(Own))
    assert type(result) is np.ndarray
    assert result.sum() == 6


def test_a_result_that_is_held_is_never_written_again():
    executable = double("100000")
    held = [executable(np.full(100000, k, np.float32)) for k in range(8)]
    views = [array[::2] for array in held[::2]]
    del held[::2]
    more = [executable(np.full(100000, 50, np.float32)) for _ in range(8)]
    assert all((view == 4 * k).all() for k, view in enumerate(views))
    assert all((array == 2 * (2 * k + 1)).all() for k, array in enumerate(held))
    assert all((array == 100).all() for array in more)


def test_the_memory_of_a_dropped_result_is_used_again(way):
    if way == "ctypes":
        pytest.skip("ctypes leaves memory to NumPy")
    executable = double("100000")
    x = np.ones(100000, np.float32)
    first = executable(x).ctypes.data
    assert len({first, *(executable(x).ctypes.data for _ in range(5))}) == 1


def test_results_outlive_their_module():
    executable = double("100000")
    result = executable(np.ones(100000, np.float32))
    gone = weakref.ref(executable)
    del executable
    gc.collect()
    assert gone() is None
    assert (result == 2).all()


def test_results_of_many_leaves():
    text = "HloModule m\nENTRY e {\n  x = f32[] parameter(0)\n"
    names = [f"y{k}" for k in range(100)]
    text += "".join(f"  {n} = f32[] add(x, x)\n" for n in names)
    text += f"  ROOT r = ({', '.join(['f32[]'] * 100)}) tuple({', '.join(names)})\n}}"
    assert emit_c.compile(hlo.parse(text), optimize=False)(1.5) == (3,) * 100


class Foreign:
    """An array of another library: DLPack is all that it has."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_arrays_of_other_libraries_come_in_and_go_out():
    result = double()(Foreign(np.array([1, 2, 3], np.float32)))
    assert (np.from_dlpack(Foreign(result)) == [2, 4, 6]).all()


def test_arrays_that_answer_numpys_functions_themselves_come_in_by_dlpack(monkeypatch):
    """CuPy's do."""
    monkeypatch.setattr(Foreign, "__array_ufunc__", lambda *_, **__: NotImplemented, raising=False)
    result = double()(Foreign(np.array([1, 2, 3], np.float32)))
    assert (result == [2, 4, 6]).all()


def test_a_capsule_is_read_where_it_is(monkeypatch):
    monkeypatch.setitem(dlpack._CODES, (2, 16), ml_dtypes.bfloat16)
    x = np.arange(6, dtype=ml_dtypes.bfloat16).reshape(2, 3)
    twin = dlpack.as_numpy(dlpack.from_capsule(x.view(np.float16).T.__dlpack__()))
    assert twin.dtype == x.dtype
    assert (twin == x.T).all()
    x[0, 0] = 9
    assert twin[0, 0] == 9
    nothing = np.zeros((0, 3), np.float16)
    assert dlpack.as_numpy(dlpack.from_capsule(nothing.__dlpack__())).shape == (0, 3)


def test_a_capsule_of_another_type_is_refused(monkeypatch):
    monkeypatch.delitem(dlpack._CODES, (2, 32))
    with pytest.raises(hlo.HloError) as caught:
        dlpack.from_capsule(np.zeros(3, np.float32).__dlpack__())
    assert caught.value.code == "HLO112"


def test_modules_of_equal_text_keep_their_own_constants():
    text = """HloModule m
ENTRY e {{
  c = s32[2000] constant({{{0}}})
  x = s32[2000] parameter(0)
  ROOT r = s32[2000] add(c, x)
}}"""
    numbers = [list(range(2000)), list(range(5, 2005))]
    texts = [text.format(", ".join(map(str, n))) for n in [*numbers, numbers[0]]]
    made = [emit_c.compile(hlo.parse(t), optimize=False) for t in texts]
    zero = np.zeros(2000, np.int32)
    assert all((m(zero) == n).all() for m, n in zip(made[:2], numbers, strict=True))
    del made[0]
    gc.collect()
    assert (made[1](zero) == numbers[0]).all()


def test_an_endless_loop_is_interrupted(alarm):
    executable = emit_c.compile(hlo.parse(ENDLESS), optimize=False)

    def interrupt(*arguments):
        # Once: on a busy machine, the next signal would come when the test is over.
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.default_int_handler(*arguments)

    alarm(interrupt)
    with pytest.raises(KeyboardInterrupt):
        executable(0)


def test_a_signal_that_is_handled_does_not_end_a_loop(alarm):
    executable = emit_c.compile(hlo.parse(ENDLESS), optimize=False)
    seen = []

    def handle(*_):
        seen.append(len(seen))
        if len(seen) == 2:
            raise TimeoutError

    alarm(handle)
    with pytest.raises(TimeoutError):
        executable(0)
    assert seen == [0, 1]


def test_without_headers_a_warning_says_so(monkeypatch):
    monkeypatch.setattr(runtimes, "headers", list)
    with pytest.warns(RuntimeWarning, match="python3-dev"):
        assert runtimes._trampoline() is None


@pytest.mark.skipif(
    not Path("/sys/kernel/mm/transparent_hugepage").exists(),
    reason="the system has no pages that become large when it is asked",
)
def test_large_results_lie_in_large_pages():
    """A small page is cleared when it is touched first; 2,048 of them take longer than a sum."""
    made = emit_c.compile(hlo.parse(DOUBLE.format("f32", 4194304)))(np.ones(4194304, np.float32))
    middle = made.ctypes.data + made.nbytes // 2
    maps = re.findall(
        r"^([0-9a-f]+)-([0-9a-f]+) .*?^VmFlags:(.*?)$",
        Path("/proc/self/smaps").read_text(),
        re.MULTILINE | re.DOTALL,
    )
    (flags,) = [f for begin, end, f in maps if int(begin, 16) <= middle < int(end, 16)]
    assert "hg" in flags.split()
