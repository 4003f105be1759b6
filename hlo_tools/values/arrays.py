"""Values from and to `.npy` and `.npz` files, from a seed, or all of one number.

A value is a tree: its arrays are its leaves, and a tuple nests. Files hold the leaves in order. In
an archive they are named `in0`, `in1`, ... for inputs and `out0`, `out1`, ... for outputs, so that
one archive can hold both; device 1 has `in0_d1`, ... where there are several devices. An archive
without such names holds its arrays in their order.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np

from hlo.errors.error import HloError
from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from hlo.types.shape import Shape

    Array = NDArray[Any]

Value = Any  # an array, None for a token, or a tuple of values
# The first bytes of `.npy` and `.npz` files. Of others NumPy says that they hold pickled objects.
_BEGINNINGS = (b"\x93NUMPY", b"PK")


def leaves(value: Value) -> Iterator[Array]:
    """The arrays of a value in order; tokens are left out."""
    if isinstance(value, tuple):
        for element in cast("tuple[Value, ...]", value):
            yield from leaves(element)
    elif value is not None:
        yield value


def tree(shape: Shape, leaf: Callable[[Shape], Array]) -> Value:
    """A value of a shape, each array made by a function; tokens are None."""
    if shape.is_tuple:
        return tuple(tree(element, leaf) for element in shape.elements)
    return leaf(shape) if shape.is_array else None


def typed(array: Array, shape: Shape) -> Array:
    """The array under a shape's type, where NumPy's files have kept nothing but its bytes."""
    dtype = shape.element_type.dtype
    if array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize:
        return array.view(dtype)
    return array


def load(path: str, prefix: str, *, any_name: bool = True) -> list[Array]:
    """The arrays of a `.npy` or `.npz` file, or of a snapshot of XLA's, in order.

    Parameters
    ----------
    prefix : "in" or "out": of the arrays to take, if the archive has such.
    any_name : results (out0, ...) are taken where there is no array of the prefix.

    Raises
    ------
    HloError
        HLO200 if the file can't be read, HLO202 if it holds no arrays.
    """
    if path.endswith((".pb", ".pbtxt")):
        from hlo.frontends.protobuf.reading import values_of  # noqa: PLC0415  few need it

        return values_of(path, prefix)
    try:
        with Path(path).open("rb") as file:
            if file.peek(1).startswith(_BEGINNINGS):
                return _loaded(file, prefix, any_name=any_name)
    except OSError as error:
        raise HloError("HLO200", f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # NumPy and zipfile raise errors of any kind for a broken file
        raise HloError("HLO202", f"cannot read the arrays of {path}: {error}") from error
    raise HloError("HLO202", f"{path} is neither .npy nor .npz")


def _loaded(file: BinaryIO, prefix: str, *, any_name: bool) -> list[Array]:
    loaded = np.load(file, allow_pickle=False)
    if isinstance(loaded, np.ndarray):
        return [cast("Array", loaded)]
    named = _of_prefix(list(loaded.files), prefix)
    if not named and (any_name or not _of_prefix(list(loaded.files), "out")):
        named = list(loaded.files)
    arrays = [loaded[name] for name in named]
    for name, array in zip(named, arrays, strict=True):
        if not isinstance(array, np.ndarray):  # NumPy gives the bytes of any other file
            raise ValueError(f"`{name}` is no array")  # noqa: TRY004  told as HLO202
    return arrays


def _of_prefix(names: Sequence[str], prefix: str) -> list[str]:
    """The names that are the prefix and a number, a device's after another's, by number."""
    matches = [(re.fullmatch(rf"{prefix}(\d+)(?:_d(\d+))?", name), name) for name in names]
    keyed = [(int(match[2] or 0), int(match[1]), name) for match, name in matches if match]
    return [name for _, _, name in sorted(keyed)]


def save(path: str, per_device: Sequence[Value]) -> None:
    """Write the outputs of all devices: one array to a `.npy` file, any number to a `.npz` file.

    Raises
    ------
    HloError
        HLO200 if the file can't be written, HLO202 if its name asks for another format.
    """
    arrays = {
        f"out{i}" + (f"_d{device}" if len(per_device) > 1 else ""): _storable(array)
        for device, value in enumerate(per_device)
        for i, array in enumerate(leaves(value))
    }
    suffix = Path(path).suffix
    if suffix not in (".npy", ".npz") or (suffix == ".npy" and len(arrays) != 1):
        message = f"cannot write {counted(len(arrays), 'array')} to {path}"
        raise HloError("HLO202", message, notes=["use a file name that ends in .npz"])
    try:
        with Path(path).open("wb") as file:
            if suffix == ".npz":
                np.savez(file, **arrays)  # pyright: ignore[reportArgumentType]
            else:
                np.save(file, arrays["out0"])
    except OSError as error:
        raise HloError("HLO200", f"cannot write {path}: {error.strerror}") from error


def _storable(array: Array) -> Array:
    """The array, as bytes where NumPy's files have no name for its type; `typed` undoes it."""
    return array if array.dtype.isbuiltin == 1 else array.view(f"V{array.dtype.itemsize}")


def random_array(shape: Shape, generator: np.random.Generator) -> Array:
    """Small numbers: standard normal floats, integers from -4 to 3 or from 0 to 7, both booleans.

    Integers stay small because they are often indices, or counts of a loop.
    """
    kind, dims, dtype = shape.element_type.kind, shape.dims, shape.element_type.dtype
    if kind in ("signed", "unsigned", "pred"):
        bits = min(shape.element_type.bits, 3) if kind != "pred" else 1
        numbers = generator.integers(0, 2**bits, dims)
        return np.asarray(numbers - (2 ** (bits - 1) if kind == "signed" else 0)).astype(dtype)
    # Twice the memory for nothing, if all were made as f64.
    wide = np.float64 if shape.element_type.real.bits == 64 else np.float32
    numbers = generator.standard_normal(dims, wide)
    if kind == "complex":
        numbers = numbers + 1j * generator.standard_normal(dims, wide)
    # A float without a sign holds no negative numbers.
    return np.asarray(
        np.abs(numbers) if shape.element_type.name == "f8e8m0fnu" else numbers
    ).astype(dtype)


def random_values(shapes: Sequence[Shape], seed: int) -> list[Value]:
    """A random value of each shape, the same ones for a seed each time."""
    generator = np.random.default_rng(seed)
    return [tree(shape, lambda leaf: random_array(leaf, generator)) for shape in shapes]


def full_array(shape: Shape, number: float) -> Array:
    """An array of one number.

    Raises
    ------
    HloError
        HLO202 if the element type has no such number.
    """
    dtype = shape.element_type.dtype
    try:
        with np.errstate(invalid="ignore", over="ignore"):  # what comes of it is looked at below
            array = np.full(shape.dims, number).astype(dtype)
    except (OverflowError, ValueError) as error:
        raise HloError("HLO202", f"{shape.element_type} has no {number}") from error
    if shape.element_type.is_integer and array.size and complex(array.flat[0]) != number:
        raise HloError("HLO202", f"{shape.element_type} has no {number}")
    return array
