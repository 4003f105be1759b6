"""Programs in which devices exchange arrays, for all who run them beside the interpreter."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import hlo
from hlo.errors.error import HloError
from hlo.instruction import Module
from hlo.types.element_type import ELEMENT_TYPES

# Six devices: 3 replicas of 2 partitions; device d is replica d // 2, partition d % 2.
HEADER = "HloModule m, replica_count=3, num_partitions=2"
# By the groups' size: all devices together, or groups of equal sizes.
REDUCED = {
    "cross-replica": ("replica_groups={{0,2},{1}}", None),
    "all replicas": ("replica_groups={}", 3),
    "both": ("channel_id={c}, replica_groups={{2,0,1}}", 6),
    "flattened": (
        "channel_id={c}, replica_groups={{0,5,1},{4,2,3}}, use_global_device_ids=true",
        3,
    ),
    "iota": ("channel_id={c}, replica_groups=[3,2]<=[2,3]T(1,0), use_global_device_ids=true", 2),
}
MOVED = {
    "cross-replica": ("replica_groups={{2,0,1}}", 3),
    "cross-partition": ("channel_id={c}, replica_groups={{1,0}}", 2),
}
TYPES = sorted(t.name for t in ELEMENT_TYPES.values() if t.is_array and t.name != "buffer")


def lines_of(kind: str) -> tuple[str, list[str]]:
    """A computation that folds two numbers of a type, and one collective of each sort and mode."""
    combine = "or" if kind == "pred" else "add"
    fold = (
        f"fold_{kind} {{ p = {kind}[] parameter(0)\n q = {kind}[] parameter(1)\n"
        f" ROOT s = {kind}[] {combine}(p, q) }}"
    )
    x = f"{kind}_x"
    found: list[str] = []

    def add(shape: str, text: str) -> None:
        found.append(f"{shape} {text}".replace("{c}", str(len(found) + 1)))

    for attrs, count in REDUCED.values():
        add(f"{kind}[6,12]", f"all-reduce({x}), {attrs}, to_apply=fold_{kind}")
        if count is None:
            continue
        add(f"{kind}[6,{12 * count}]", f"all-gather({x}), {attrs}, dimensions={{1}}")
        add(
            f"{kind}[6,{12 // count}]",
            f"reduce-scatter({x}), {attrs}, dimensions={{1}}, to_apply=fold_{kind}",
        )
    for attrs, count in MOVED.values():
        for d in range(2):
            add(f"{kind}[6,12]", f"all-to-all({x}), {attrs}, dimensions={{{d}}}")
        same = ", ".join([x] * count)
        add("(" + ", ".join([f"{kind}[6,12]"] * count) + ")", f"all-to-all({same}), {attrs}")
        add(f"{kind}[6,12]", f"collective-broadcast({x}), {attrs}")
    add(f"{kind}[6,12]", f"collective-permute({x}), source_target_pairs={{{{0,1}},{{1,2}}}}")
    add(f"{kind}[6,12]", f"collective-permute({x}), channel_id=99, source_target_pairs={{{{1,0}}}}")
    return fold, found


def numbers(kind: str, dims: tuple[int, ...], seed: int) -> Any:
    """Small numbers, of which some are special where the type has them."""
    generator = np.random.default_rng(seed)
    target = ELEMENT_TYPES[kind]
    if target.is_complex:
        return (generator.normal(size=dims) + 1j * generator.normal(size=dims)).astype(target.dtype)
    made = generator.integers(0, 2 if target.is_integer or kind == "pred" else 5, dims)
    array = np.asarray(made).astype(target.dtype)
    if target.name in ("f32", "f64", "bf16", "f16"):
        array[0, :3] = np.array([np.nan, np.inf, -0.0]).astype(target.dtype)
    return array


def all_modes(kinds: Sequence[str]) -> str:
    """A module for six devices with each collective, in each mode, of some types."""
    folds, lines = zip(*map(lines_of, kinds), strict=True)
    parameters = [f"{k}_x = {k}[6,12] parameter({n})" for n, k in enumerate(kinds)]
    all_lines = [line for each in lines for line in each]
    shapes = ", ".join(line[: line.index(")") + 1] if line[0] == "(" else line.split()[0]
                       for line in all_lines)  # fmt: skip
    named = [f"r{n} = {line}" for n, line in enumerate(all_lines)]
    root = f"ROOT r = ({shapes}) tuple({', '.join(f'r{n}' for n in range(len(named)))})"
    body = "\n  ".join([*parameters, *named, root])
    return "\n".join([HEADER, *folds, f"ENTRY e {{\n  {body}\n}}"])


def given_to_all(kinds: Sequence[str]) -> list[tuple[Any, ...]]:
    """The arguments of `all_modes` for six devices."""
    return [tuple(numbers(k, (6, 12), 7 * d + 1) for k in kinds) for d in range(6)]


# Programs of one s32[4], each for some replicas and partitions.
ADD = "add { a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT s = s32[] add(a, b) }\n"
BRANCHES = """
together { p = s32[4] parameter(0)
  ROOT r = s32[4] all-reduce(p), to_apply=add }
apart { p = s32[4] parameter(0)
  ROOT r = s32[4] %s }
ENTRY main {
  x = s32[4] parameter(0)
  me = u32[] replica-id()
  zero = u32[] constant(0)
  first = pred[] compare(me, zero), direction=EQ
  ROOT r = s32[4] conditional(first, x, x), true_computation=together, false_computation=apart
}"""


def entry(lines: str) -> str:
    return f"ENTRY main {{\n x = s32[4] parameter(0)\n {lines}\n}}"


def exchange(attrs: str, order: str = "") -> str:
    """Each device sends to another one, and receives."""
    pairs = f'frontend_attributes={{_xla_send_recv_source_target_pairs="{attrs}"}}'
    return entry(f"""t = token[] after-all()
 r = (s32[4], u32[], token[]) recv(t), channel_id=1, {pairs}
 s = (s32[4], u32[], token[]) send(x, t), channel_id=1, {pairs}
 d = (s32[4], token[]) recv-done(r), channel_id=1{order}
 e = token[] send-done(s), channel_id=1
 ROOT y = s32[4] get-tuple-element(d), index=0""")


PROGRAMS = {
    "a root that is known at run time": (entry("""root = u32[] constant(2)
 ROOT r = s32[4] collective-broadcast(x, root), replica_groups={{2,0,1}},
   has_dynamic_root=true"""), 3, 1),
    "a root that is no member": (entry("""root = s32[] constant(3)
 ROOT r = s32[4] collective-broadcast(x, root), replica_groups={{2,0,1}},
   has_dynamic_root=true"""), 3, 1),
    "a broadcast to some":
        (entry("ROOT r = s32[4] collective-broadcast(x), replica_groups={{2,0}}"), 3, 1),
    "several arrays at once": (entry("""y = s32[4] negate(x)
 z = s32[] constant(3)
 ROOT r = (s32[4], s32[], s32[4]) all-reduce(x, z, y), to_apply=add"""), 3, 1),
    "several arrays permuted": (entry("""y = s32[4] negate(x)
 ROOT r = (s32[4], s32[4]) collective-permute(x, y), source_target_pairs={{0,1},{1,0}}"""), 3, 1),
    "slices to their places": (entry("""two = s32[] constant(2)
 one = s32[] constant(1)
 zeros = s32[4] subtract(x, x)
 from = (s32[]) tuple(two)
 to = (s32[]) tuple(one)
 ROOT r = s32[4] collective-permute(x, zeros, from, to), source_target_pairs={{0,1}},
   slice_sizes={{2}}"""), 3, 1),
    "a slice that is not in its array": (entry("""three = s32[] constant(3)
 to = (s32[]) tuple(three)
 ROOT r = s32[4] collective-permute(x, x, to, to), source_target_pairs={{0,1}},
   slice_sizes={{2}}"""), 3, 1),
    "rows of many sizes": (entry("""y = s32[4] negate(x)
 a = s32[2] constant({0, 2})
 n = s32[2] constant({2, 1})
 t = s32[2] constant({1, 3})
 ROOT r = s32[4] ragged-all-to-all(x, y, a, n, t, n), replica_groups={{1,0}}"""), 2, 1),
    "rows that have no place": (entry("""y = s32[4] negate(x)
 a = s64[2] constant({0, 2})
 n = s64[2] constant({2, 1})
 t = s64[2] constant({1, 4})
 ROOT r = s32[4] ragged-all-to-all(x, y, a, n, t, n), replica_groups={{0,1}}"""), 2, 1),
    "slices that the group does not divide": (entry("""a = s32[2] constant({0, 2})
 ROOT r = s32[4] ragged-all-to-all(x, x, a, a, a, a), replica_groups={}"""), 3, 1),
    "started": (entry("""s = s32[4] all-reduce-start(x), to_apply=add
 y = s32[4] negate(x)
 g = (s32[4], s32[12]) all-gather-start(y), dimensions={0}
 p = (s32[4], s32[4], u32[], u32[]) collective-permute-start(x), source_target_pairs={{0,2}}
 z = s32[4] multiply(y, y)
 c = s32[4] collective-permute-done(p)
 b = s32[12] all-gather-done(g)
 a = s32[4] all-reduce-done(s)
 ROOT r = (s32[4], s32[12], s32[4], s32[4]) tuple(a, b, c, z)"""), 3, 1),
    "several arrays started": (entry("""y = s32[4] negate(x)
 s = (s32[4], s32[4]) all-reduce-start(x, y), to_apply=add
 g = ((s32[4], s32[4]), (s32[12], s32[12])) all-gather-start(x, y), dimensions={0}
 b = (s32[12], s32[12]) all-gather-done(g)
 a = (s32[4], s32[4]) all-reduce-done(s)
 ROOT r = ((s32[4], s32[4]), (s32[12], s32[12])) tuple(a, b)"""), 3, 1),
    "slices started": (entry("""two = s32[] constant(2)
 zeros = s32[4] subtract(x, x)
 from = (s32[]) tuple(two)
 s = (s32[4], s32[4], u32[], u32[]) collective-permute-start(x, zeros, from, from),
   source_target_pairs={{0,1}}, slice_sizes={{2}}
 ROOT r = s32[4] collective-permute-done(s)"""), 3, 1),
    "wrapped": ("""wrapped { p = s32[6] parameter(0)
  ROOT r = s32[2] reduce-scatter(p), dimensions={0}, to_apply=add }
ENTRY main { x = s32[4] parameter(0)
  y = s32[2] slice(x), slice={[0:2]}
  z = s32[6] concatenate(x, y), dimensions={0}
  s = ((s32[6]), s32[2]) async-start(z), calls=wrapped
  ROOT r = s32[2] async-done(s) }""", 3, 1),
    "a loop whose end all decide together": ("""going { s = (s32[], s32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(100)
  t = s32[] all-reduce(i), to_apply=add
  ROOT more = pred[] compare(t, n), direction=LT }
step { s = (s32[], s32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = s32[4] get-tuple-element(s), index=1
  p = u32[] partition-id()
  q = s32[] convert(p)
  one = s32[] constant(1)
  k = s32[] add(q, one)
  next = s32[] add(i, k)
  w = s32[4] all-reduce(v), channel_id=7, replica_groups={{0,1,2}}, to_apply=add
  ROOT r = (s32[], s32[4]) tuple(next, w) }
ENTRY main { x = s32[4] parameter(0)
  z = s32[] constant(0)
  start = (s32[], s32[4]) tuple(z, x)
  ROOT end = (s32[], s32[4]) while(start), condition=going, body=step }""", 3, 1),
    "branches that meet": (BRANCHES % "all-reduce(p), to_apply=add", 2, 1),
    "a device that never comes": (BRANCHES % "negate(p)", 3, 1),
    "devices that do different things":
        (BRANCHES % "collective-permute(p), source_target_pairs={{0,1}}", 2, 1),
    "a group of too many": (entry("ROOT r = s32[4] all-reduce(x), to_apply=add, "
                                  "replica_groups={{0,1},{2,3}}"), 1, 1),
    "a device in no group": (entry("ROOT r = s32[4] all-reduce(x), to_apply=add, "
                                   "replica_groups={{0}}"), 1, 1),
    "numbers": (entry("""a = u32[] replica-id()
 b = u32[] partition-id()
 c = u32[] multiply(a, a)
 d = u32[4] broadcast(b), dimensions={}
 e = s32[4] convert(d)
 f = s32[4] add(e, x)
 ROOT r = (u32[], s32[4]) tuple(c, f)"""), 2, 3),
    "sent around": (exchange("{{0,1},{1,2},{2,0}}"), 3, 1),
    "sent to one": (exchange("{{0,1}}"), 2, 1),
    "nobody sends": (exchange("{{0,1},{1,0}}").replace(" send(x, t)", " recv(t)")
                     .replace("send-done(s)", "recv-done(s)").replace("e = token[]",
                     "e = (s32[4], token[])"), 2, 1),
    "random numbers of each device": (entry("""s = u64[2] rng-get-and-update-state(), delta=3
 t = u64[2] rng-get-and-update-state(), delta=3
 ROOT r = (u64[2], u64[2], s32[4]) tuple(s, t, x)"""), 2, 1),
}  # fmt: skip


def outcome(run: Any) -> Any:
    """The value; of an error what it says."""
    try:
        return run()
    except HloError as error:
        return error.code, error.message, error.span and error.span.line, error.notes


def module_of(name: str) -> tuple[Module, list[tuple[Any, ...]]]:
    """One of `PROGRAMS`, and the arguments of each device."""
    body, replicas, partitions = PROGRAMS[name]
    header = f"HloModule m, replica_count={replicas}, num_partitions={partitions}\n"
    devices = range(replicas * partitions)
    given = [(np.arange(4, dtype=np.int32) + 10 * d,) for d in devices]
    return hlo.parse(header + ADD + body), given
