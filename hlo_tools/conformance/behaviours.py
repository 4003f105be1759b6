"""Tests of a backend that need several calls: threads, donation, aliasing, memory, errors.

Each behaviour runs where the backend is. It gives the values of its calls, which are compared with
the reference's afterwards, or raises `BrokenPromiseError` with what the backend has done.
"""

from __future__ import annotations

import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from threading import Barrier
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.read.parse import parse
from hlo_tools.generate.values import tame
from hlo_tools.values.bounded import leaves

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.backend import Backend, LoadedModule
    from hlo.instruction import Module

Value = Any  # an array, None for a token, or a tuple of values


class BrokenPromiseError(Exception):
    """A backend broke a promise that all backends give."""


@dataclass(frozen=True)
class Behaviour:
    """A behaviour that is asked of every backend.

    Attributes
    ----------
    text : of the module.
    ask : calls the backend, and gives pairs of arguments and values, to be compared.
    """

    about: str
    text: str
    ask: Callable[[Backend, Module], list[tuple[list[Value], Value]]]

    @property
    def module(self) -> Module:
        """The module, read anew."""
        return parse(self.text)


def drawn(module: Module, seed: int) -> list[Value]:
    """Some arguments of a module."""
    random = Random(seed)
    return [tame(p.shape, random) for p in module.entry.parameters]


def copied(value: Value) -> Value:
    """A value in memory of its own."""
    if isinstance(value, tuple | list):
        return tuple(copied(part) for part in cast("Sequence[Value]", value))
    return None if value is None else np.array(value)


def _one(loaded: LoadedModule, arguments: Sequence[Value]) -> Value:
    return loaded([list(arguments)])[0]


def results_stay(backend: Backend, module: Module) -> list[tuple[list[Value], Value]]:
    """Results stay as they are when the module is called again."""
    loaded = backend.load(module)
    lists = [drawn(module, seed) for seed in range(3)]
    values = [_one(loaded, [copied(a) for a in own]) for own in lists]
    return list(zip(lists, [copied(v) for v in values], strict=True))


def results_are_the_caller_s(backend: Backend, module: Module) -> list[tuple[list[Value], Value]]:
    """A caller who writes into a result changes no later one."""
    loaded, inputs = backend.load(module), drawn(module, 0)
    for leaf in leaves(_one(loaded, [copied(a) for a in inputs])):
        if leaf.flags.writeable:
            leaf[...] = 77
    return [(inputs, copied(_one(loaded, [copied(a) for a in inputs])))]


def arguments_stay(backend: Backend, module: Module) -> list[tuple[list[Value], Value]]:
    """Arguments that the module does not donate stay as they are."""
    donated = {a.parameter for a in module.header.input_output_alias}
    donated |= {donor.parameter for donor in module.header.buffer_donor}
    loaded = backend.load(module)
    pairs: list[tuple[list[Value], Value]] = []
    for seed in range(2):
        inputs = drawn(module, seed)
        passed = [copied(a) for a in inputs]
        pairs.append((inputs, copied(_one(loaded, passed))))
        for number, (before, after) in enumerate(zip(inputs, passed, strict=True)):
            if number not in donated and not np.array_equal(before, after):
                raise BrokenPromiseError(f"the call changes argument {number}")
    return pairs


def any_strides(backend: Backend, module: Module) -> list[tuple[list[Value], Value]]:
    """Arguments may lie in any order of dimensions, backwards, repeated, and be read-only."""
    loaded = backend.load(module)
    pairs: list[tuple[list[Value], Value]] = []
    for lay in (_by_columns, _backwards, _every_other, _repeated, _read_only):
        inputs = [lay(np.asarray(a)) for a in drawn(module, 1)]
        pairs.append(([np.array(a) for a in inputs], copied(_one(loaded, inputs))))
    return pairs


def _by_columns(array: Any) -> Any:
    return np.asfortranarray(array)


def _backwards(array: Any) -> Any:
    turned = tuple(slice(None, None, -1) for _ in array.shape)
    return np.ascontiguousarray(array[turned])[turned]


def _every_other(array: Any) -> Any:
    return np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array


def _repeated(array: Any) -> Any:
    return np.broadcast_to(array[:1], array.shape) if array.ndim else array


def _read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array


def many_threads(backend: Backend, module: Module) -> list[tuple[list[Value], Value]]:
    """Several threads call one executable at once."""
    loaded, threads, calls = backend.load(module), 8, 4
    barrier, interval = Barrier(threads), sys.getswitchinterval()
    lists = [[drawn(module, t * calls + c) for c in range(calls)] for t in range(threads)]

    def call(own: list[list[Value]]) -> list[Value]:
        barrier.wait(30)
        return [copied(_one(loaded, arguments)) for arguments in own]

    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(threads) as pool:
            values = list(pool.map(call, lists))
    finally:
        sys.setswitchinterval(interval)
    return [pair for pairs in zip(lists, values, strict=True) for pair in zip(*pairs, strict=True)]


def threads_compile(backend: Backend, module: Module) -> list[tuple[list[Value], Value]]:
    """Several threads compile and call modules at once."""
    lists = [drawn(module, seed) for seed in range(6)]

    def call(own: list[Value]) -> Value:
        return copied(_one(backend.load(module), own))

    with ThreadPoolExecutor(3) as pool:
        return list(zip(lists, pool.map(call, lists), strict=True))


def memory_is_given_back(backend: Backend, module: Module) -> list[tuple[list[Value], Value]]:
    """The memory of results is free again once nobody holds them."""
    loaded, inputs = backend.load(module), drawn(module, 0)
    size = sum(leaf.nbytes for leaf in leaves(_one(loaded, inputs)))
    calls = 24
    _one(loaded, inputs)
    before = _resident()
    for _ in range(calls):
        _one(loaded, inputs)
    gc.collect()
    grown = _resident() - before
    if grown > calls * size // 2:
        message = f"{calls} calls with results of {size:,} bytes take {grown:,} bytes for ever"
        raise BrokenPromiseError(message)
    return []


def _resident() -> int:
    """Bytes of this process in memory; 0 where nobody tells."""
    path = Path("/proc/self/statm")
    return int(path.read_text().split()[1]) * 4096 if path.exists() else 0


def equal_names(backend: Backend, module: Module) -> list[tuple[list[Value], Value]]:
    """Two modules of one name are two modules."""
    other = parse(str(module).replace("multiply", "subtract"))
    inputs = drawn(module, 0)
    first, second = backend.load(other), backend.load(module)
    _one(first, inputs)
    return [(inputs, copied(_one(second, inputs)))]


def must_fail(backend: Backend, module: Module) -> list[tuple[list[Value], Value]]:
    """Nobody can know the value of an unknown custom call."""
    try:
        value = _one(backend.load(module), drawn(module, 0))
    except Exception:
        return []
    raise BrokenPromiseError(f"a custom call that nobody knows gives {value!r:.60}")


def wrong_arguments(backend: Backend, module: Module) -> list[tuple[list[Value], Value]]:
    """Arguments of other types or sizes, or too few of them, are an error, and harm nobody."""
    loaded, inputs = backend.load(module), drawn(module, 0)
    wrong = {
        "too few arguments": inputs[:-1],
        "an argument of another element type": [inputs[0].astype(np.float64), *inputs[1:]],
        "an argument of another size": [inputs[0][:1], *inputs[1:]],
    }
    for mistake, arguments in wrong.items():
        try:
            _one(loaded, arguments)
        except Exception:
            continue
        raise BrokenPromiseError(f"{mistake} is no error")
    return [(inputs, copied(_one(loaded, inputs)))]


def several_devices(backend: Backend, module: Module) -> list[tuple[list[Value], Value]]:
    """Devices that need each other meet, or the backend says that it can't."""
    lists = [drawn(module, seed) for seed in range(2)]
    values = backend.load(module)(lists)
    total = lists[0][0] + lists[1][0]
    for device, value in enumerate(values):
        if not np.allclose(value, total):
            raise BrokenPromiseError(f"all-reduce gives device {device} another sum than 0 + 1")
    return []


_ADD = """HloModule several
ENTRY e {
  x = f32[4,3] parameter(0)
  y = f32[4,3] parameter(1)
  c = f32[4,3] constant({{1,2,3},{4,5,6},{7,8,9},{10,11,12}})
  z = f32[4,3] add(x, y)
  u = f32[4,3] multiply(z, c)
  w = f32[3,4] transpose(u), dimensions={1,0}
  ROOT r = (f32[4,3], f32[3,4], f32[4,3], f32[4,3], f32[4,3]) tuple(z, w, c, x, z)
}
"""
_LARGE = """HloModule large
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
condition {
  s = (s32[], f32[48,48]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT less = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[48,48]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[48,48] get-tuple-element(s), index=1
  y = f32[48,48] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[48,48] tanh(y)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = (s32[], f32[48,48]) tuple(j, z)
}
ENTRY e {
  x = f32[48,48] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], f32[48,48]) tuple(zero, x)
  end = (s32[], f32[48,48]) while(start), condition=condition, body=body
  last = f32[48,48] get-tuple-element(end), index=1
  none = f32[] constant(0)
  rows = f32[48] reduce(last, none), dimensions={1}, to_apply=sum
  ROOT r = (f32[48,48], f32[48]) tuple(last, rows)
}
"""
_ALIAS = "{ {0}: (1, {}, may-alias), {1}: (0, {}, may-alias) }"
_DONATING = (
    f"HloModule donating, input_output_alias={_ALIAS}\n"
    """
ENTRY e {
  x = f32[4,3] parameter(0)
  y = f32[4,3] parameter(1)
  z = f32[4,3] parameter(2)
  a = f32[4,3] add(x, z)
  b = f32[4,3] subtract(x, y)
  c = f32[4,3] multiply(a, y)
  ROOT r = (f32[4,3], f32[4,3], f32[4,3]) tuple(a, b, c)
}
"""
)
_DONOR = """HloModule donor, buffer_donor={ (0, {}) }
ENTRY e {
  x = f32[4,3] parameter(0)
  y = f32[4,3] parameter(1)
  a = f32[4,3] add(x, y)
  b = f32[4,3] multiply(a, x)
  ROOT r = f32[4,3] subtract(b, x)
}
"""
_BIG = """HloModule big
ENTRY e {
  x = f32[1024,1024] parameter(0)
  ROOT y = f32[1024,1024] add(x, x)
}
"""
_CALL = 'custom-call(x), custom_call_target="nobody_knows_this"'
_UNKNOWN = (
    f"""HloModule unknown_call
ENTRY e {{
  x = f32[2] parameter(0)
  ROOT y = f32[2] {_CALL}
}}
""",
    f"""HloModule unknown_call_in_a_branch
easy {{
  x = f32[2] parameter(0)
  ROOT y = f32[2] negate(x)
}}
strange {{
  x = f32[2] parameter(0)
  ROOT y = f32[2] {_CALL}
}}
ENTRY e {{
  x = f32[2] parameter(0)
  yes = pred[] constant(true)
  ROOT y = f32[2] conditional(yes, x, x), true_computation=strange, false_computation=easy
}}
""",
    f"""HloModule unknown_call_in_a_loop
condition {{
  s = (pred[], f32[2]) parameter(0)
  ROOT p = pred[] get-tuple-element(s), index=0
}}
body {{
  s = (pred[], f32[2]) parameter(0)
  x = f32[2] get-tuple-element(s), index=1
  y = f32[2] {_CALL}
  no = pred[] constant(false)
  ROOT t = (pred[], f32[2]) tuple(no, y)
}}
ENTRY e {{
  x = f32[2] parameter(0)
  yes = pred[] constant(true)
  t = (pred[], f32[2]) tuple(yes, x)
  ROOT w = (pred[], f32[2]) while(t), condition=condition, body=body
}}
""",
)
_DEVICES = """HloModule meeting, replica_count=2
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY e {
  x = f32[3] parameter(0)
  ROOT y = f32[3] all-reduce(x), replica_groups={{0,1}}, to_apply=sum
}
"""
BEHAVIOURS: tuple[Behaviour, ...] = (
    Behaviour("aliasing", _ADD, results_stay),
    Behaviour("aliasing", _ADD, results_are_the_caller_s),
    Behaviour("aliasing", _ADD, arguments_stay),
    Behaviour("aliasing", _ADD.replace("several", "of_one_name"), equal_names),
    Behaviour("strides", _ADD, any_strides),
    Behaviour("donation", _DONATING, arguments_stay),
    Behaviour("donation", _DONATING, results_stay),
    Behaviour("donation", _DONOR, arguments_stay),
    Behaviour("threads", _LARGE, many_threads),
    Behaviour("threads", _ADD, many_threads),
    Behaviour("threads", _ADD, threads_compile),
    *(Behaviour("errors", text, must_fail) for text in _UNKNOWN),
    Behaviour("errors", _ADD, wrong_arguments),
    Behaviour("devices", _DEVICES, several_devices),
    Behaviour("memory", _BIG, memory_is_given_back),
)
