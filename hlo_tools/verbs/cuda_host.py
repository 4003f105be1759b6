r"""Run a kernel of CUDA C on the processor; with --checked, look for the mistakes that it makes.

The file is what a GPU would get: kernels, without a main() and without `<<< >>>`. Arguments are
in the order of the kernel's parameters:
  --arg x.npy             the array of a file; the kernel changes a copy
  --arg 'f32[1000]'       a new array, which is an output; it begins with zeros
  --arg 'f32[8,8]=iota'   an array of 0, 1, 2, ...
  --arg 's32[9]=random'   an array of small numbers; `=1.5` is one of a number
  --arg 1000              a number of the parameter's type

  hlo cuda-host add.cu --grid 4 --block 256 \
      --arg x.npy --arg 'f32[1000]' --arg 1000 --out y.npy

Checked mode finds races between threads and between blocks, addresses out of bounds, divergent
barriers, absent lanes in shuffles, shared memory that nobody has written, overflow of indices and
misaligned vectors, each with its line, its threads, and the HLO of a comment `// hlo: ...` above.
The exit status is 1 if it finds any.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from emit_cuda import host, nvrtc
from emit_cuda.host.apart import apart, shared_array
from hlo.errors.error import HloError
from hlo.files import read_bytes
from hlo.types.element_type import ELEMENT_TYPES
from hlo.types.shape import Shape
from hlo.wording import counted
from hlo_tools.arguments import at_least
from hlo_tools.options.files import STANDARD, name_of
from hlo_tools.values.arrays import load, random_array, save

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from emit_cuda.devices import Dim3
    from hlo_tools.arguments import Parser

FINE, FOUND = 0, 1
_ARRAY = re.compile(r"(?P<kind>\w+)\[(?P<dims>[\d, ]*)\](?:=(?P<filled>.+))?")
_FILES = (".npy", ".npz")


def dims(text: str) -> Dim3:
    """The type of an option that takes one to three sizes, as `4` or `4,2`."""
    parts = text.split(",")
    if len(parts) > 3 or not all(part.strip().isdigit() for part in parts):
        raise argparse.ArgumentTypeError(f"`{text}` is not one to three sizes, as 4 or 32,8")
    x, y, z = (*map(int, parts), 1, 1)[:3]
    return x, y, z


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument("file", metavar="FILE", help="CUDA C, or - for standard input")
    parser.add_argument(
        "--kernel", metavar="NAME", help="the kernel to run (default: the only one)"
    )
    parser.add_argument("--grid", metavar="X[,Y[,Z]]", type=dims, default=(1, 1, 1), help="blocks")
    parser.add_argument(
        "--block", metavar="X[,Y[,Z]]", type=dims, default=(1, 1, 1), help="threads of a block"
    )
    parser.add_argument(
        "--shared", metavar="BYTES", type=at_least(0), default=0, help="of extern __shared__ memory"
    )
    parser.add_argument(
        "--cooperative", action="store_true", help="all blocks are there at once, and may wait"
    )
    parser.add_argument(
        "--arg", metavar="ARG", action="append", default=[], help="of the kernel, in order"
    )
    parser.add_argument(
        "--out", metavar="FILE", help="where outputs go: .npy for one, .npz for any number"
    )
    parser.add_argument("--checked", action="store_true", help="watch every access to memory")
    parser.add_argument(
        "--seed", metavar="N", type=at_least(0), default=0, help="shuffles threads and blocks"
    )
    parser.add_argument(
        "--explain-launch",
        metavar="SM",
        help="tell what the launch would take of a GPU, as sm_90: registers, memory, occupancy",
    )
    parser.only_with(["--seed"], "--checked")


def run(arguments: Namespace) -> int:
    """Compile, launch, and show the outcome."""
    name = name_of(arguments.file)
    standard = arguments.file == STANDARD
    raw = sys.stdin.buffer.read() if standard else read_bytes(arguments.file)
    text = raw.decode(errors="replace")
    library = host.compile(
        text, name=name, checked=arguments.checked, kernels=_instances(arguments.kernel)
    )
    kernel = arguments.kernel or _only(library, name)
    if arguments.explain_launch:
        print(explained(text, name, kernel, arguments))
    parameters = library.kernels.get(kernel, ())
    arrays: dict[int, NDArray[Any]] = {}
    outputs: list[int] = []
    passed: list[int | np.generic] = []
    for k, word in enumerate(arguments.arg):
        kind = parameters[k].kind if k < len(parameters) else "integer"
        size = parameters[k].bytes if k < len(parameters) else 4
        value = _value(word, kind, size)
        if isinstance(value, np.ndarray):
            arrays[k] = value
            outputs += [k] if _is_output(word) else []
            passed.append(value.ctypes.data)
        else:
            passed.append(value)
    memory = [
        host.NamedMemory(array.ctypes.data, array.nbytes, f"argument {k + 1}, {arguments.arg[k]}")
        for k, array in arrays.items()
    ]
    wrong = apart(
        lambda: library.launch(
            kernel,
            arguments.grid,
            arguments.block,
            arguments.shared,
            passed,
            memory=memory,
            seed=arguments.seed,
            cooperative=arguments.cooperative,
        )
    )
    _show([(arguments.arg[k], arrays[k]) for k in outputs])
    if arguments.out:
        values = tuple(arrays[k] for k in outputs)
        save(arguments.out, [values[0] if len(values) == 1 else values])
    for finding in wrong:
        print(f"\n{finding}")
    if arguments.checked:
        print(f"\n{counted(len(wrong), 'mistake')} found" if wrong else "checked: no mistake found")
    return FOUND if wrong else FINE


def explained(text: str, name: str, kernel: str, arguments: Namespace) -> str:
    """The demands of a launch on a GPU: a line of sizes, and one of occupancy.

    Raises
    ------
    HloError
        HLO190 if NVRTC refuses the file, HLO191 if no block fits, HLO195 if there is no NVRTC.
    """
    architecture: str = arguments.explain_launch
    compiled = nvrtc.compile(text, architecture, name=name)
    if kernel not in compiled.usage:
        message = f"NVRTC tells nothing of {kernel}: of templates it knows no instances"
        raise HloError("HLO191", message)
    usage, threads = compiled.usage[kernel], math.prod(arguments.block)
    full = nvrtc.occupancy(usage, threads, arguments.shared, architecture)
    spills = f", {usage.spilled_bytes} bytes spilled" if usage.spilled_bytes else ""
    return (
        f"{kernel} on {architecture}: {counted(math.prod(arguments.grid), 'block')} of "
        f"{counted(threads, 'thread')}; "
        f"{usage.registers} registers a thread{spills}, "
        f"{usage.shared_bytes + arguments.shared} bytes of shared memory a block\n"
        f"a multiprocessor holds {counted(full.blocks, 'block')}, {full.warps} of "
        f"{full.most_warps} warps ({full.share:.0%}); limited by {' and '.join(full.limits)}"
    )


def _instances(kernel: str | None) -> Sequence[str]:
    """A template's instance has to be asked for: `sum<float>`."""
    return [kernel] if kernel and "<" in kernel else []


def _only(library: host.HostLibrary, name: str) -> str:
    kernels = list(library.kernels)
    if len(kernels) != 1:
        listed = f"the kernels {', '.join(kernels)}" if kernels else "no kernel"
        raise HloError("HLO191", f"{name} has {listed}", notes=["--kernel says which to run"])
    return kernels[0]


def _is_output(word: str) -> bool:
    return bool(_ARRAY.fullmatch(word)) and "=" not in word


def _value(word: str, kind: str, size: int) -> NDArray[Any] | np.generic:
    """An argument of the command line, for a parameter."""
    if match := _ARRAY.fullmatch(word):
        return _array(word, match)
    if word.endswith(_FILES):
        arrays = load(word, "in")
        if len(arrays) != 1:
            message = f"{word} has {counted(len(arrays), 'array')}, and an argument is one"
            raise HloError("HLO202", message)
        array = shared_array(arrays[0].shape, arrays[0].dtype)
        array[...] = arrays[0]
        return array
    dtype = _NUMBERS.get((kind, size))
    try:
        if kind == "floating" and dtype:
            return dtype(float(word))
        if dtype:
            return dtype(int(word, 0))
    except (ValueError, OverflowError):
        pass
    wanted = {"floating": "a number", "integer": f"an integer of {size} bytes"}
    message = f"the argument {word!r} is not {wanted.get(kind, 'an array')}"
    notes = ["an array is x.npy, f32[1000], f32[8,8]=random; `hlo cuda-host --help`"]
    raise HloError("HLO202", message, notes=notes)


_NUMBERS: dict[tuple[str, int], Callable[[int | float], np.generic]] = {
    ("integer", 1): np.int8,
    ("integer", 2): np.int16,
    ("integer", 4): np.int32,
    ("integer", 8): np.int64,
    ("floating", 4): np.float32,
    ("floating", 8): np.float64,
}


def _array(word: str, match: re.Match[str]) -> NDArray[Any]:
    kind, filled = match["kind"], match["filled"]
    if kind not in ELEMENT_TYPES or not ELEMENT_TYPES[kind].is_array:
        message = f"the argument {word!r}: there is no element type {kind!r}"
        raise HloError("HLO202", message)
    element = ELEMENT_TYPES[kind]
    sizes = tuple(int(size) for size in match["dims"].split(",") if size.strip())
    array = shared_array(sizes, element.dtype)
    if filled == "random":
        array[...] = random_array(Shape(element, sizes), np.random.default_rng(0))
    elif filled == "iota":
        array.reshape(-1)[...] = np.arange(array.size).astype(element.dtype)
    elif filled:
        try:
            array[...] = np.asarray(float(filled)).astype(element.dtype)
        except ValueError as error:
            message = f"the argument {word!r}: {filled!r} is neither random, iota nor a number"
            raise HloError("HLO202", message) from error
    return array


def _show(outputs: Sequence[tuple[str, NDArray[Any]]]) -> None:
    """The outputs, long ones in short."""
    for word, array in outputs:
        print(f"{word} =", np.array2string(array, threshold=64, edgeitems=4))
