"""Arrays from seeds, numbers and files, of every element type."""

from pathlib import Path

import numpy as np
import pytest

from hlo.types.element_type import ARRAY_TYPES, F32, ElementType
from hlo.types.shape import TOKEN_SHAPE, array, tuple_of
from hlo_tools.values.arrays import full_array, leaves, load, random_array, save, tree, typed
from hlo_tools.values.show import spell

types = pytest.mark.parametrize("element_type", ARRAY_TYPES, ids=str)


@types
def test_random_arrays_are_of_their_type_and_not_all_alike(element_type: ElementType) -> None:
    made = random_array(array(element_type, (4, 16)), np.random.default_rng(0))
    assert made.dtype == element_type.dtype
    assert made.shape == (4, 16)
    assert len({x.tobytes() for x in made.flat}) > 1
    scalar = random_array(array(element_type), np.random.default_rng(0))
    assert isinstance(scalar, np.ndarray)


@types
def test_arrays_survive_files(element_type: ElementType, tmp_path: Path) -> None:
    shape = array(element_type, (3, 5))
    made = random_array(shape, np.random.default_rng(1))
    path = str(tmp_path / "a.npz")
    save(path, [(made, (None, made))])
    loaded = [typed(a, shape) for a in load(path, "out")]
    assert [a.dtype for a in loaded] == [made.dtype] * 2
    assert loaded[0].tobytes() == made.tobytes()


@types
def test_ones_exist_in_every_type(element_type: ElementType) -> None:
    # s1 holds 0 and -1.
    number = -1 if element_type.name == "s1" else 1
    made = full_array(array(element_type, (2,)), number)
    assert made.dtype == element_type.dtype
    assert (made.astype(np.complex128) == number).all()


@types
def test_values_of_every_type_can_be_shown(element_type: ElementType) -> None:
    for dims in ((), (0,), (2, 3), (300,)):
        made = random_array(array(element_type, dims), np.random.default_rng(2))
        text, *_ = spell(made)
        assert text.startswith(f"{element_type}[{','.join(map(str, dims))}]")


def test_devices_come_in_order(tmp_path: Path) -> None:
    path = str(tmp_path / "a.npz")
    values = [(np.full(1, d), np.full(1, 10 + d)) for d in range(11)]
    save(path, values)
    loaded = [int(a[0]) for a in load(path, "out")]
    assert loaded == [n for d in range(11) for n in (d, 10 + d)]


def test_trees_have_their_shape() -> None:
    shape = tuple_of(array(F32, (2,)), tuple_of(), tuple_of(TOKEN_SHAPE, array(F32)))
    value = tree(shape, lambda s: np.zeros(s.dims, np.float32))
    assert value[1] == ()
    assert value[2][0] is None
    assert [leaf.shape for leaf in leaves(value)] == [(2,), ()]
    assert list(spell(value)) == [
        "{0} f32[2] [0., 0.]",
        "{1} ()",
        "{2}{0} token[]",
        "{2}{1} f32[] 0.",
    ]


def test_what_is_not_finite_is_counted() -> None:
    numbers = np.zeros(200, np.float32)
    numbers[3], numbers[4] = np.nan, np.inf
    (text,) = spell(numbers)
    assert "2 not finite" in text
    assert "min 0, max 0" in text
