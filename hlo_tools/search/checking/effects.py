"""Effects of a module, and its contract with callers: what a pass must keep besides values.

A value does not show that an outfeed is gone, nor that an argument may now be overwritten.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from hlo.attributes import CustomCall
from hlo.sharded import CUTS, JOINS
from hlo.wording import counted
from hlo.write.sharding_print import print_sharding
from hlo_tools.generate.values import counting
from interpreter.custom_calls.placement import identity, sink
from interpreter.custom_calls.registry import CUSTOM_CALLS
from interpreter.engine.device import Device
from interpreter.numbers.compare import compare

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hlo.instruction import Computation, Instruction, Module
    from interpreter.numbers.compare import Promise

# Values that wait in the infeed queue of a device.
INFEEDS = 64


def fed_devices(module: Module, count: int) -> list[Device]:
    """New devices, with values to take in where all infeeds of a module take the same shape."""
    shapes = {i.shape.elements[0] for i in module.instructions() if i.opcode == "infeed"}
    devices = [Device() for _ in range(count)]
    for shape in shapes if len(shapes) == 1 else ():
        for device in devices:
            device.infeed = deque(counting(shape, Random(n)) for n in range(INFEEDS))
    return devices


def different_effects(
    before: Sequence[Device], after: Sequence[Device], promise: Promise
) -> str | None:
    """The difference between the effects of two runs on their devices; None if there is none.

    Parameters
    ----------
    promise : floats that are sent may differ so much; if it forgives rounding, by anything.
    """
    for old, new in zip(before, after, strict=True):
        want, got = _sent(old), _sent(new)
        if len(got) != len(want):
            return f"{counted(len(want), 'value')} went to the host, and {len(got)} go there now"
        difference = compare(got, want, promise)
        if difference is not None and (difference.reason or not promise.ulps):
            return f"the values that go to the host change: {difference}"
    if [d.state for d in before] != [d.state for d in after]:
        return "the random generator is left in another state"
    if [len(d.infeed) for d in before] != [len(d.infeed) for d in after]:
        return "the number of values that are taken from the host changes"
    return None


def _sent(device: Device) -> tuple[Any, ...]:
    """All values that a device has given to the host."""
    by_channel = sorted(device.to_host.items(), key=str)
    return (*device.outfeed, *(value for _, sent in by_channel for value in sent))


def lost_effect(before: Module, after: Module) -> str | None:
    """The custom call that has an effect and always runs, if a pass has removed it, or the effect.

    Calls in other computations may go, as in branches that nobody takes; but none loses its effect.
    """
    left = Counter(_target(i) for c in after.computations for i in _acting(c))
    for target, count in Counter(map(_target, _acting(before.entry))).items():
        if left[target] < count:
            return f"a custom call of {target!r} is gone, though it has a side effect"
    there = {i.name: i for i in after.instructions() if i.opcode == "custom-call"}
    for instr in (i for c in before.computations for i in _acting(c)):
        now = there.get(instr.name)
        silent = replace(CustomCall.of(instr), custom_call_has_side_effect=False)
        if now is not None and now.attrs == silent:
            return f"%{instr.name}, a custom call of {_target(instr)!r}, loses its side effect"
    return None


def _acting(computation: Computation) -> Iterator[Instruction]:
    """The custom calls that have effects of their own."""
    for instr in computation.instructions:
        if instr.opcode == "custom-call" and CustomCall.of(instr).custom_call_has_side_effect:
            target = _target(instr)
            # Such calls are marked only so that they, or their operands, stay for a while.
            if target not in (CUTS | JOINS) and CUSTOM_CALLS.get(target) not in (identity, sink):
                yield instr


def _target(instr: Instruction) -> str:
    return CustomCall.of(instr).custom_call_target


def broken_contract(before: Module, after: Module) -> str | None:
    """Memory that callers rely on: arguments that are not given up, and results in their place."""
    old, new = before.header, after.header
    offered = {(d.parameter, d.parameter_index) for d in old.buffer_donor}
    offered |= {(a.parameter, a.parameter_index) for a in old.input_output_alias}
    for taken in (*new.input_output_alias, *new.buffer_donor):
        if (taken.parameter, taken.parameter_index) not in offered:
            return f"parameter {taken.parameter} may be overwritten, which its caller did not allow"
    for alias in old.input_output_alias:
        if alias not in new.input_output_alias:
            return f"a result no longer lies in the memory of parameter {alias.parameter}"
    taken = {(t.parameter, t.parameter_index) for t in (*new.input_output_alias, *new.buffer_donor)}
    for donor in old.buffer_donor:
        if (donor.parameter, donor.parameter_index) not in taken:
            return f"the memory of parameter {donor.parameter} is no longer offered"
    return None


def lost_sharding(before: Module, after: Module) -> str | None:
    """The sharding that a pass has changed or removed, of a value that is there as it was."""
    if before.header.num_partitions != after.header.num_partitions:
        return None
    old, new = before.entry, after.entry
    there = {i.name: i for i in new.instructions}
    pairs = [*zip(old.parameters, new.parameters, strict=True), (old.root, new.root)]
    pairs += [(i, there[i.name]) for i in old.instructions if i.name in there]
    for was, now in pairs:
        sharding, same = was.annotations.sharding, was.shape.compatible(now.shape)
        if sharding is None or not same or now.annotations.sharding == sharding:
            continue
        if was.opcode == now.opcode or (was, now) == (old.root, new.root):
            change = "is gone" if now.annotations.sharding is None else "changes"
            return f"the sharding of %{was.name}, {print_sharding(sharding)}, {change}"
    return None
