"""The last elements of a row, computed by a whole vector that ends with it."""

import pytest
from strategies.compiled import check, entry, whole


@pytest.mark.parametrize("kind", ["f32", "f64", "s32"])
@pytest.mark.parametrize("size", [17, 23, 31, 43])
def test_sums_of_neighbours(kind, size):
    text = f"""x = {kind}[9,{size + 2}] parameter(0)
a = {kind}[9,{size}] slice(x), slice={{[0:9],[0:{size}]}}
b = {kind}[9,{size}] slice(x), slice={{[0:9],[2:{size + 2}]}}
ROOT s = {kind}[9,{size}] add(a, b)"""
    check(entry(text), optimize=True, arguments=whole(-99, 99))
