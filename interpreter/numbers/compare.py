"""Equality of two results, at the strength that a rewrite promised.

A rule of the optimizer, a pass and a backend each promise how little they change. Each promise
allows all that those above it allow:

- `BITS`: nothing;
- `ZERO_SIGN`: the signs of zeros;
- `FINITE`: results that are NaN or infinite on either side;
- `ROUNDING`: the last digits;
- `LOSSY`: many digits, where an intermediate result underflows or its rounding is magnified;
- `MAGNITUDE`: a factor of four, where an intermediate result is so small that it has one digit.

`compare` checks a result against a promise. If the result breaks it, the `Difference` tells the
first such element and the distance.

Distances are in ULP, units in the last place: how many numbers of the type lie between, plus one.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, cast

import ml_dtypes
import numpy as np

from interpreter.numbers.widths import float_format, type_of, widened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[Any]

Value = Any  # an array, None for a token, or a tuple of values
_finfo = cast("Any", ml_dtypes.finfo)


@dataclass(frozen=True, slots=True)
class Promise:
    """The differences between two results that count as equal; by default there are none.

    NaN is equal to NaN, whatever its sign and payload: no two processors agree on those.

    Attributes
    ----------
    zero_sign : -0 may be +0.
    finite : elements that are NaN or infinite on either side may be anything on the other.
    ulps : floats may be this many numbers apart; but in types of few mantissa bits, where 16 ulps
        would allow anything, a quarter of the distance to the double, and at least one.
    of_largest : ... or differ by so many times the largest finite number's rounding error, which is
        what a sum in another order promises.
    underflow : what is 0 on either side may be anything on the other.
    magnitude : ... or be up to four times as large as wanted, or as small, and of the same sign.
    flushed : subnormal numbers are equal to zeros and to each other: one side has flushed them.
    atol, rtol : ... or differ by `atol + rtol * |wanted|`, as in NumPy's `allclose`.
    """

    zero_sign: bool = False
    finite: bool = False
    ulps: int = 0
    of_largest: bool = False
    underflow: bool = False
    magnitude: bool = False
    flushed: bool = False
    atol: float = 0.0
    rtol: float = 0.0

    def __or__(self, other: Promise) -> Promise:
        """The promise of two changes, one after the other."""
        return Promise(
            self.zero_sign or other.zero_sign,
            self.finite or other.finite,
            self.ulps + other.ulps,
            self.of_largest or other.of_largest,
            self.underflow or other.underflow,
            self.magnitude or other.magnitude,
            self.flushed or other.flushed,
            self.atol + other.atol,
            self.rtol + other.rtol,
        )

    def within(self, ulps: int) -> Promise:
        """The same promise, but for floats that are at most this many numbers apart."""
        return replace(self, ulps=ulps)

    def keeps(self, other: Promise) -> bool:
        """Whether this promise is as strong as another: a change that keeps it keeps the other."""
        return (
            self.zero_sign <= other.zero_sign
            and self.finite <= other.finite
            and self.ulps <= other.ulps
            and self.of_largest <= other.of_largest
            and self.underflow <= other.underflow
            and self.magnitude <= other.magnitude
            and self.flushed <= other.flushed
            and self.atol <= other.atol
            and self.rtol <= other.rtol
        )

    def __str__(self) -> str:
        """The name, or the tolerance where it has none."""
        names = [name for name, promise in PROMISES.items() if promise == self]
        if names:
            return names[0]
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        forgiven = [k if v is True else f"{k}={v:g}" for k, v in values.items() if v]
        return f"Promise({', '.join(forgiven)})"


BITS: Final = Promise()
ZERO_SIGN: Final = Promise(zero_sign=True)
FINITE: Final = Promise(zero_sign=True, finite=True)
ROUNDING: Final = Promise(zero_sign=True, finite=True, ulps=16, of_largest=True)
# The loss of a number that is rounded to a float of two mantissa bits, in last places of f64.
LOSSY: Final = replace(ROUNDING, ulps=2**51, underflow=True)
# The bits that the quotient of two subnormal numbers keeps.
MAGNITUDE: Final = replace(LOSSY, magnitude=True)
# The strongest first: each keeps all that follow.
PROMISES: Final = {
    "BITS": BITS,
    "ZERO_SIGN": ZERO_SIGN,
    "FINITE": FINITE,
    "ROUNDING": ROUNDING,
    "LOSSY": LOSSY,
    "MAGNITUDE": MAGNITUDE,
}


@dataclass(frozen=True, slots=True)
class Difference:
    """The first element at which a result breaks a promise.

    Attributes
    ----------
    path : of the array in nested tuples; () if the result is an array.
    reason : what is wrong, if shapes or types differ already; then the rest is empty.
    index : of the first element that differs.
    got, want : that element on both sides.
    ulps : how far apart they are; 0 where only the sign of zero differs or either is NaN.
    count : how many elements differ.
    size : how many there are.
    max_ulps : the largest distance among those that differ.
    """

    path: tuple[int, ...]
    reason: str = ""
    index: tuple[int, ...] = ()
    got: Any = None
    want: Any = None
    ulps: int = 0
    count: int = 0
    size: int = 0
    max_ulps: int = 0

    def __str__(self) -> str:
        """One line for people."""
        where = "".join(f"{{{i}}}" for i in self.path)
        if self.reason:
            return f"{where}: {self.reason}" if where else self.reason
        path = where + (f"[{','.join(map(str, self.index))}]" if self.index else "")
        text = f"{self.got} instead of {self.want}"
        text = f"{path}: {text}" if path else text
        far = f" (up to {self.max_ulps} ulps)" if self.max_ulps else ""
        return f"{text}; {self.count} of {self.size} elements differ{far}"


def compare(got: Value, want: Value, promise: Promise = BITS) -> Difference | None:
    """The first difference of two results that a promise does not allow; None if there is none.

    Parameters
    ----------
    got, want : arrays, None for tokens, or nested tuples of such.
    promise : how far numbers may be apart: see `PROMISES`; by default not at all.

    Returns
    -------
    Difference or None
        of the first array, in order, that differs.
    """
    got_leaves, want_leaves = dict(_leaves(got, ())), dict(_leaves(want, ()))
    for path in got_leaves | want_leaves:
        got_spelling, want_spelling = _spell(got_leaves, path), _spell(want_leaves, path)
        if got_spelling != want_spelling:
            return Difference(path, f"{got_spelling} instead of {want_spelling}")
        difference = _compare_leaves(got_leaves[path], want_leaves[path], promise, path)
        if difference:
            return difference
    return None


def _leaves(value: Value, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Value]]:
    """Every array and token of nested tuples with its path; an empty tuple counts as one."""
    if isinstance(value, tuple) and value:
        for i, element in enumerate(cast("tuple[Value, ...]", value)):
            yield from _leaves(element, (*path, i))
    else:
        yield path, value


def _spell(leaves: dict[tuple[int, ...], Value], path: tuple[int, ...]) -> str:
    """The shape at a path, as HLO text spells it."""
    if path not in leaves:
        return "nothing"
    leaf = leaves[path]
    if leaf is None:
        return "token[]"
    if isinstance(leaf, tuple):
        return "()"
    return f"{type_of(leaf)}[{','.join(map(str, leaf.shape))}]"


def _compare_leaves(
    got: Value, want: Value, promise: Promise, path: tuple[int, ...]
) -> Difference | None:
    if want is None or isinstance(want, tuple):
        return None
    with np.errstate(all="ignore"):
        differs, ulps = _differences(_real(got), _real(want), promise)
    if not differs.any():
        return None
    # The first element in row-major order; a complex one if either of its parts differs.
    position = int(differs.argmax())
    if type_of(want).is_complex:
        pairs = differs.reshape(-1, 2).any(axis=1)
        position, count = position // 2, int(pairs.sum())
        distances = ulps.reshape(-1, 2).max(axis=1)
    else:
        count, distances = int(differs.sum()), ulps
    index = tuple(int(i) for i in np.unravel_index(position, want.shape))
    furthest = int(np.where(differs, ulps, np.zeros_like(ulps)).max())
    return Difference(
        path=path,
        index=index,
        got=got[index],
        want=want[index],
        ulps=int(distances[position]),
        count=count,
        size=want.size,
        max_ulps=furthest,
    )


def flushed(got: Value, want: Value) -> int:
    """Count the numbers that are subnormal on a side, and other ones, or zeros, on the other.

    Those of f16 and of smaller types do not count: they are computed in f32, which has them as
    normal numbers.
    """
    pairs = zip(_leaves(got, ()), _leaves(want, ()), strict=True)
    count = 0
    for (_, g), (_, w) in pairs:
        if g is not None and not isinstance(g, tuple):
            count += int(_are_flushed(_real(g), _real(w)).sum())
    return count


def _are_flushed(got: Array, want: Array) -> Array:
    """A mask of two rows, as of `flushed`."""
    least = _least_normal(want)
    if not least:
        return np.zeros(want.shape, bool)
    g, w = widened(got), widened(want)
    return (np.abs(g) < least) & (np.abs(w) < least) & (g != w)


def _least_normal(row: Array) -> float:
    """The number below which a processor may flush those of a type; 0 where there is none."""
    if not type_of(row).is_floating:
        return 0.0
    least = float(_finfo(row.dtype).smallest_normal)
    return least if least <= float(np.finfo(np.float32).tiny) else 0.0


def ulps_between(got: Array, want: Array) -> Array:
    """The distances of floats, in ULP; of complex numbers, the larger one of their parts'.

    NaN is at no distance from NaN. Infinity is as far as can be from all but itself.
    """
    g, w = _real(got), _real(want)
    ulps = _distance(_ranks(g), _ranks(w))
    g, w = widened(g), widened(w)
    far = np.full_like(ulps, np.iinfo(ulps.dtype).max)
    ulps = np.where((np.isfinite(g) & np.isfinite(w)) | (g == w), ulps, far)
    ulps = np.where(np.isnan(g) & np.isnan(w), np.zeros_like(ulps), ulps)
    per_element = ulps.reshape(*got.shape, -1) if got.size else ulps.reshape(*got.shape, 1)
    return per_element.max(axis=-1)


def _real(value: Array) -> Array:
    """The elements in one row; of complex numbers the parts, in turn."""
    row = np.ascontiguousarray(value).reshape(-1)
    return row.view(type_of(value).real.dtype)


def _differences(got: Array, want: Array, promise: Promise) -> tuple[Array, Array]:
    """A mask of the elements of two rows that break a promise, and the distances of all."""
    if not type_of(want).is_floating:
        return np.asarray(got != want), _distance(widened(got), widened(want))
    ulps = _distance(_ranks(got), _ranks(want))
    g, w = widened(got), widened(want)
    ulps = np.where(np.isnan(g) | np.isnan(w), np.zeros_like(ulps), ulps)
    finite = np.isfinite(g) & np.isfinite(w)
    mantissa_bits = float_format(want.dtype).mantissa_bits
    allowed = min(promise.ulps, max(1, 2**mantissa_bits // 4))
    near = ulps <= allowed
    if promise.of_largest and finite.any():
        largest = np.abs(w[finite]).max()
        near |= np.abs(g - w) <= allowed * 2.0**-mantissa_bits * largest
    if promise.underflow:
        near |= (g == 0) | (w == 0)
    if promise.magnitude:
        sizes, signs = (np.abs(g), np.abs(w)), np.signbit(g) == np.signbit(w)
        near |= signs & (sizes[0] <= 4 * sizes[1]) & (sizes[1] <= 4 * sizes[0])
    if promise.atol or promise.rtol:
        near |= np.abs(g - w) <= promise.atol + promise.rtol * np.abs(w)
    if promise.flushed:
        near |= _are_flushed(got, want)
    # An infinity is a neighbour of the largest number, but no rounding error makes one.
    near &= finite | (g == w)
    if not promise.zero_sign:
        near &= (np.signbit(g) == np.signbit(w)) | (g != 0) | (w != 0)
    equal = near | (np.isnan(g) & np.isnan(w))
    if promise.finite:
        equal |= ~finite
    return ~equal, ulps


def _ranks(x: Array) -> Array:
    """The rank of each float in the order of all floats of its type; both zeros at 0."""
    form = float_format(x.dtype)
    bits = x.view(f"u{x.dtype.itemsize}").astype(np.uint64)
    if not form.signed:
        return bits.astype(np.int64)
    size = (bits & np.uint64(2 ** (form.bits - 1) - 1)).astype(np.int64)
    return np.where(bits >> np.uint64(form.bits - 1) == 1, -size, size)


def _distance(x: Array, y: Array) -> Array:
    """The distances of whole numbers, as u64: the true distance always fits."""
    larger, smaller = np.maximum(x, y), np.minimum(x, y)
    return larger.astype(np.uint64) - smaller.astype(np.uint64)
