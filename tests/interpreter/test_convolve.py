"""Convolution: against a loop over every place, feature and element of the window."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import run, seeds, wholes, window, window_of
from single import values

from hlo.types.element_type import ARRAY_TYPES
from hlo.types.values import WindowDim
from interpreter import convolve
from interpreter.numbers.compare import compare

SPATIAL = st.tuples(
    st.integers(0, 4),
    st.builds(
        WindowDim,
        size=st.integers(1, 3),
        stride=st.integers(1, 2),
        pad_low=st.integers(-1, 2),
        pad_high=st.integers(-1, 2),
        base_dilation=st.integers(1, 2),
        window_dilation=st.integers(1, 2),
        reversal=st.booleans(),
    ),
)


def spelled(dims: list[WindowDim]) -> str:
    return window_of(dims, rhs_reversal=[int(w.reversal) for w in dims])


def naive(lhs: Any, rhs: Any, dims: list[WindowDim], feature: int, batch: int) -> Any:
    """A convolution of (n, c, spatial) with (o, c, window): (n, o, spatial)."""
    n, outputs, depth = lhs.shape[0] // batch, rhs.shape[0], rhs.shape[1]
    places = [w.positions(size) for w, size in zip(dims, lhs.shape[2:], strict=True)]
    result = np.zeros((n, outputs, *places))
    for b, o, *place in np.ndindex(*result.shape):
        first_feature = o // max(outputs // feature, 1) * depth
        first_batch = o // max(outputs // batch, 1) * n
        for offset in np.ndindex(*(w.size for w in dims)):
            source: list[int] = []
            weight: list[int] = []
            for p, i, w, size in zip(place, offset, dims, lhs.shape[2:], strict=True):
                at = p * w.stride + i * w.window_dilation - w.pad_low
                at, hole = divmod(at, w.base_dilation)
                if hole or not 0 <= at < size:
                    break
                source.append(at)
                weight.append(w.size - 1 - i if w.reversal else i)
            else:
                for c in range(depth):
                    element = lhs[(first_batch + b, first_feature + c, *source)]
                    result[(b, o, *place)] += element * rhs[(o, c, *weight)]
    return result


@given(
    st.lists(SPATIAL, max_size=2),
    st.integers(1, 3),
    st.booleans(),
    st.tuples(*[st.integers(0, 2)] * 2, st.integers(1, 2)),
    st.data(),
    seeds,
)
def test_convolution(
    spatial: list[tuple[int, WindowDim]],
    groups: int,
    group_batch: bool,
    counts: tuple[int, int, int],
    data: st.DataObject,
    seed: int,
) -> None:
    sizes, dims = [n for n, _ in spatial], [w for _, w in spatial]
    if not all(w.padded_extent(n) >= 0 for n, w in spatial):
        return
    n, o, c = counts
    feature, batch = (1, groups) if group_batch else (groups, 1)
    lhs = wholes(seed, (n * batch, c * feature, *sizes))
    rhs = wholes(seed + 1, (o * groups, c, *(w.size for w in dims)))
    want = naive(lhs, rhs, dims, feature, batch)
    # Dimensions in any order: labels[i] says what dimension i is for.
    digits = "012"[: len(dims)]
    labels = [data.draw(st.permutations(list(letters + digits))) for letters in ("bf", "oi", "bf")]
    canonical = ["bf" + digits, "oi" + digits, "bf" + digits]
    orders = [[c.index(x) for x in mine] for c, mine in zip(canonical, labels, strict=True)]
    text = (
        f"convolution(p0, p1), dim_labels={''.join(labels[0])}_{''.join(labels[1])}->"
        f"{''.join(labels[2])}, feature_group_count={feature}, batch_group_count={batch}"
    )
    if dims:
        text += f", {spelled(dims)}"
    got = run(text, lhs.transpose(orders[0]).copy(), rhs.transpose(orders[1]).copy())
    assert got.tolist() == want.transpose(orders[2]).tolist()


@pytest.mark.parametrize("name", [t.name for t in ARRAY_TYPES if t.name != "pred"])
def test_convolution_of_every_type(name: str) -> None:
    lhs, rhs = values(name, [[[1, 1, 1]]]), values(name, [[[1, 1]]])
    text = f"convolution(p0, p1), dim_labels=bf0_oi0->bf0, {window(size=[2])}"
    got = run(text, lhs, rhs)
    assert compare(values(name, [[[2, 2]]]), got) is None


def test_large_batches_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    lhs, rhs = wholes(1, (7, 2, 9)), wholes(2, (3, 2, 4))
    text = f"convolution(p0, p1), dim_labels=bf0_oi0->bf0, {window(size=[4])}"
    whole = run(text, lhs, rhs)
    monkeypatch.setattr(convolve, "CHUNK", 100)
    assert run(text, lhs, rhs).tolist() == whole.tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"size": [2], "pad": [(1, 1)]}, [1, np.inf, np.inf]),
        ({"size": [1], "pad": [(1, 0)]}, [0, np.inf, np.inf]),
        ({"size": [2], "lhs_dilate": [2]}, [np.inf, 1]),
        ({"size": [2], "pad": [(1, 0)], "rhs_reversal": [1]}, [np.inf, np.inf]),
    ],
)
def test_what_is_no_element_is_not_multiplied(
    fields: dict[str, Any], wanted: list[float], dtype: type
) -> None:
    lhs = np.ones((1, 1, 2), dtype)
    rhs = np.array([[[np.inf, 1]]], dtype)[..., : fields["size"][0]]
    got = run(f"convolution(p0, p1), dim_labels=bf0_oi0->bf0, {window(**fields)}", lhs, rhs)
    if dtype is np.complex64:  # an infinity times 1 + 0i is (inf, nan)
        assert np.isinf(got).tolist() == [[np.isinf(wanted).tolist()]]
    else:
        assert got.tolist() == [[wanted]]
