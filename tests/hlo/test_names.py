"""Unique names, as XLA's NameUniquer gives them."""

import pytest

from hlo.names import NameSupply


@pytest.mark.parametrize(
    ("taken", "wanted", "given"),
    [
        ([], "add", "add"),
        (["add"], "add", "add.1"),
        (["add"], "add.0", "add.1"),
        (["add.0"], "add", "add.1"),
        (["add.1", "add"], "add", "add.2"),
        # Number 0 of `one.0`, which is not the bare `one.0`: that is number 0 of `one`.
        (["one.0"], "one.0.0", "one.0.0"),
        (["one.0", "one.0.0"], "one.0.0", "one.0.1"),
        (["one.03"], "one.3", "one.0"),
    ],
)
def test_the_first_free_number(taken, wanted, given):
    assert NameSupply(taken).unique(wanted) == given
