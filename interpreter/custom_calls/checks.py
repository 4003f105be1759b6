"""The custom calls in which tests of StableHLO's interpreter are written.

A check is an error of the run where two values are not alike. They are run by this interpreter
only, whatever compiles the rest.

References
----------
`stablehlo/tests/CheckOps.td` and `stablehlo/reference/InterpreterOps.td` in openxla/stablehlo.
"""

from __future__ import annotations

import sys
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.attributes import CustomCall
from hlo.errors.error import HloError, did_you_mean
from hlo.wording import counted
from interpreter.custom_calls.options import config
from interpreter.custom_calls.registry import custom_call
from interpreter.custom_calls.signatures import Options, checked
from interpreter.engine.device import Device
from interpreter.engine.frame import Frame, quiet
from interpreter.engine.lockstep import Lockstep
from interpreter.numbers.compare import ulps_between
from interpreter.numbers.widths import widened

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hlo.instruction import Computation, Instruction
    from interpreter.table import Value

    Array = NDArray[Any]

_SHOWN = 3  # elements that an error shows
_NUMBERS = {
    "check.expect_almost_eq": ("tolerance",),
    "check.expect_close": ("max_ulp_difference", "min_ulp_difference"),
    "check.expect_serialized_eq": ("iter", "iteration"),
}


@checked("interpreter.print", "interpreter.probe", "check.expect_serialized_eq", note="an array")
@checked(
    *("check.expect_eq", "check.expect_almost_eq", "check.expect_close"),
    note="two arrays of one type",
)
def check_alike(instr: Instruction, _options: Options | None) -> str:
    """The fault in what is looked at, or compared."""
    target = CustomCall.of(instr).custom_call_target
    count = 2 if target in ("check.expect_eq", *_NUMBERS) else 1
    count = 1 if target == "check.expect_serialized_eq" else count
    shapes = [o.shape.with_default_layout() for o in instr.operands]
    if len(shapes) != count or not shapes[0].is_array or shapes[-1] != shapes[0]:
        return f"takes {counted(count, 'array')}{' of one type' if count > 1 else ''}"
    for name in _NUMBERS.get(target, ()):
        if not isinstance(config(instr).get(name, 0), int | float):
            return f"needs a number as `{name}`"
    return ""


@checked("interpreter.run_parallel", note="the operands of each device, and its computation")
def check_devices(instr: Instruction, _options: Options | None) -> str:
    """The fault in the computations of a grid of devices, and in their operands."""
    sizes = [config(instr).get(name) for name in ("replicas", "partitions")]
    if not all(isinstance(size, int) and size > 0 for size in sizes):
        return "needs the numbers `replicas` and `partitions`"
    count = cast("int", sizes[0]) * cast("int", sizes[1])
    if len(instr.called) < count:
        return f"calls {counted(len(instr.called), 'computation')} on {count} devices"
    wanted = [p.shape for program in instr.called[:count] for p in program.parameters]
    shapes = [o.shape for o in instr.operands]
    if [s.with_default_layout() for s in wanted] != [s.with_default_layout() for s in shapes]:
        return "takes the parameters of its computations"
    return ""


@custom_call("check.expect_eq")
def expect_eq(_frame: Frame, instr: Instruction, actual: Array, expected: Array) -> Value:
    """Two arrays are equal, element by element.

    Raises
    ------
    HloError
        HLO125 if they are not.
    """
    return _checked(instr, actual == expected, actual, expected)


@custom_call("check.expect_almost_eq")
def expect_almost_eq(_frame: Frame, instr: Instruction, actual: Array, expected: Array) -> Value:
    """Floats, or the parts of complex numbers, differ by `tolerance` at most.

    Raises
    ------
    HloError
        HLO125 if they do not.
    """
    allowed = float(config(instr).get("tolerance", 1e-4))
    alike = np.ones(actual.shape, bool)
    for a, b in zip(_parts(actual), _parts(expected), strict=True):
        with np.errstate(invalid="ignore", over="ignore"):
            near = np.abs(a - b) <= allowed
        alike &= (a == b) | (np.isnan(a) & np.isnan(b)) | near
    return _checked(instr, alike, actual, expected)


@custom_call("check.expect_close")
def expect_close(_frame: Frame, instr: Instruction, actual: Array, expected: Array) -> Value:
    """Floats, or the parts of complex numbers, are so many ULPs apart.

    Raises
    ------
    HloError
        HLO125 if they are not.
    """
    options = config(instr)
    most, least = (
        int(options.get(f"{end}_ulp_difference", usual)) for end, usual in (("max", 1), ("min", 0))
    )
    distances = ulps_between(actual, expected)
    return _checked(instr, (distances <= most) & (distances >= least), actual, expected)


def _parts(value: Array) -> tuple[Array, ...]:
    """The elements, or their real and imaginary parts, as doubles."""
    wide: Any = widened(value)
    parts = (wide.real, wide.imag) if np.iscomplexobj(wide) else (wide,)
    return tuple(part.astype(np.float64) for part in parts)


def _checked(instr: Instruction, alike: Any, actual: Array, expected: Array) -> Value:
    wrong = np.argwhere(~np.asarray(alike))
    if not len(wrong):
        return ()
    places = [tuple(int(n) for n in place) for place in wrong[:_SHOWN]]
    notes = [f"at {list(at)}: {actual[at]}, expected {expected[at]}" for at in places]
    message = f"{instr.name}: {counted(len(wrong), 'element')} of {actual.size} differ"
    raise HloError("HLO125", message, instr.span, notes)


@custom_call("interpreter.print")
def print_value(_frame: Frame, instr: Instruction, value: Array) -> Value:
    """Writes a value to standard output."""
    name = instr.operands[0].name
    shape = instr.operands[0].shape.text_without_layout
    sys.stdout.write(f"%{name} = {shape} {value.tolist()}\n")
    return ()


@custom_call("interpreter.probe")
def probe(frame: Frame, instr: Instruction, value: Array) -> Value:
    """The value itself, which `check.expect_serialized_eq` may ask for later."""
    frame.device.probes.setdefault(str(config(instr).get("probe_id")), []).append(value.copy())
    return value


@custom_call("check.expect_serialized_eq")
def expect_serialized_eq(frame: Frame, instr: Instruction, expected: Array) -> Value:
    """The value of a probe, as it ran for the `iter`-th time, is equal to another one.

    Raises
    ------
    HloError
        HLO125 if it is not, or did not run so often.
    """
    options = config(instr)
    name = str(options.get("probe_id"))
    turn = int(options.get("iter", options.get("iteration", 0)))
    probes = frame.device.probes.get(name, [])
    if not 0 <= turn < len(probes):
        message = f"{instr.name}: the probe {name!r} ran {counted(len(probes), 'time')}"
        raise HloError("HLO125", message, instr.span, did_you_mean(name, frame.device.probes))
    actual = probes[turn]
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        message = f"{instr.name}: {actual.dtype}{list(actual.shape)} was kept"
        raise HloError("HLO125", message, instr.span)
    return _checked(instr, actual == expected, actual, expected)


@custom_call("interpreter.run_parallel")
def run_parallel(frame: Frame, instr: Instruction, *inputs: Value) -> Value:
    """The values of computations that run on a grid of devices, one device after the other.

    The computations after those of the devices give what the host sends to all infeeds.
    """
    options = config(instr)
    replicas, partitions = int(options["replicas"]), int(options["partitions"])
    programs, infeeds = (
        instr.called[: replicas * partitions],
        instr.called[replicas * partitions :],
    )
    queue = deque[Any]()
    for sent in infeeds:
        value = frame.call(sent)
        queue.append(cast("Value", value) if isinstance(value, tuple) else (value,))
    # What is sent to the host, the host hands on to whoever receives on the same channel.
    channels = {
        getattr(instruction.attrs, "channel_id", None)
        for program in programs
        for instruction in program.instructions
        if instruction.opcode in ("send", "recv")
    }
    host: Any = {channel: deque[Any]() for channel in channels}
    lockstep = Lockstep(replicas, partitions, frame.device.lockstep.meshes)
    bodies: list[Callable[[], Value]] = []
    rest = list(inputs)
    for number, program in enumerate(programs):
        replica, partition = divmod(number, partitions)
        device = Device(
            replica, partition, infeed=queue, from_host=host, to_host=host,
            probes=frame.device.probes, lockstep=lockstep,
        )  # fmt: skip
        count = len(program.parameters)
        own, rest = rest[:count], rest[count:]
        runner = Frame(device, frame.observe, frame.max_iterations, frame.ask)
        bodies.append(partial(_run, runner, program, own))
    results = lockstep.run(bodies)
    flat: list[Value] = []
    for value in results:
        flat += cast("tuple[Value, ...]", value) if isinstance(value, tuple) else (value,)
    return tuple(flat) if instr.shape.is_tuple else flat[0]


def _run(frame: Frame, program: Computation, arguments: list[Value]) -> Value:
    with quiet():
        return frame.call(program, *arguments)
