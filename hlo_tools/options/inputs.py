"""The inputs that a verb runs a module on: from files, from a seed, or all of one number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError
from hlo.sharded import devices_given
from hlo.wording import counted
from hlo_tools.arguments import at_least
from hlo_tools.values.arrays import full_array, load, random_values, tree, typed
from interpreter.engine.memory import DEVICE_BYTES, available_bytes

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hlo.instruction import Module
    from hlo.types.shape import Shape

    Array = NDArray[Any]
    from hlo_tools.arguments import Parser

Value = Any  # an array, None for a token, or a tuple of values

INPUT_OPTIONS = ("--input", "--seed", "--fill", "--replicas")


def add_input_options(parser: Parser) -> None:
    """The options that `make_inputs` looks at."""
    parser.add_argument(
        "--input",
        action="append",
        metavar="FILE",
        help=".npy or .npz with the arrays of the parameters in order; may be given again. Several "
        "devices are given the same arrays, or each its own: first all of device 0, then all of "
        "device 1 (in0_d1, in1_d1, ... in an .npz), replica by replica",
    )
    parser.add_argument(
        "--seed", type=at_least(0), default=0, metavar="N", help="seed of random inputs (default 0)"
    )
    parser.add_argument("--fill", type=float, metavar="NUMBER", help="fill all inputs with this")
    parser.add_argument(
        "--replicas",
        type=at_least(1),
        metavar="N",
        help="number of replicas (default: the module's)",
    )
    parser.not_with("--seed", "--input", "--fill")
    parser.not_with("--fill", "--input")


def make_inputs(module: Module, arguments: Namespace) -> list[list[Value]]:
    """The arguments of each device."""
    replicas: int = arguments.replicas or module.header.replica_count
    devices = devices_given(module, replicas)
    shapes = [parameter.shape for parameter in module.entry.parameters]
    size = 0 if arguments.input else sum(shape.bytes for shape in shapes)
    needed, available = (size + DEVICE_BYTES) * devices, available_bytes()
    if needed > available:
        several = f"{devices:,} devices and " if devices > 1 else ""
        message = f"{several}the inputs take {needed:,} bytes, and {available:,} are available"
        raise HloError("HLO113", message, module.entry.span)
    if arguments.input:
        # Where nothing is needed, an archive of results has nothing to give.
        needed = any(leaf.is_array for shape in shapes for _, leaf in shape.leaves())
        arrays = [a for path in arguments.input for a in load(path, "in", any_name=needed)]
        return deal(arrays, shapes, devices)
    if arguments.fill is not None:
        number: float = arguments.fill
        return [[tree(s, lambda s: full_array(s, number)) for s in shapes] for _ in range(devices)]
    return [random_values(shapes, arguments.seed + device) for device in range(devices)]


def input_maker(module: Module, arguments: Namespace) -> Callable[[], list[list[Value]]]:
    """Makes the arguments of each device when they are needed; files are read now.

    Raises
    ------
    HloError
        As `make_inputs`, of files.
    """
    inputs = make_inputs(module, arguments) if arguments.input else None
    return lambda: make_inputs(module, arguments) if inputs is None else inputs


def deal(arrays_given: Sequence[Array], shapes: Sequence[Shape], devices: int) -> list[list[Value]]:
    """Arrays as values of shapes, for each device its own, or the same ones for all.

    Raises
    ------
    HloError
        HLO202 if there are too many or too few.
    """
    needed = sum(leaf.is_array for shape in shapes for _, leaf in shape.leaves())
    if len(arrays_given) not in (needed, needed * devices):
        several = f" for one device, or {needed * devices} for all" if devices > 1 else ""
        message = f"{counted(len(arrays_given), 'array')} in place of {needed}{several}"
        raise HloError("HLO202", message)
    shared = len(arrays_given) == needed
    dealt: list[list[Value]] = []
    for device in range(devices):
        arrays = iter(arrays_given if shared else arrays_given[device * needed :])
        dealt.append([tree(s, lambda s, a=arrays: typed(next(a), s)) for s in shapes])
    return dealt
