"""`torch.compile(model, backend="pyhlo")`: what it promises beside the values."""

from typing import Any

import pytest

from hlo_torch import report


def test_memory_is_shared(torch: Any) -> None:
    """A tensor of torch and an array of NumPy look at the same memory, both ways."""
    from hlo_torch.arrays import maker_of, reader_of  # noqa: PLC0415 - needs torch

    for kind in (torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64):
        tensor = torch.ones(2, 3, dtype=kind)
        array = reader_of(kind)(tensor)
        assert array.ctypes.data == tensor.data_ptr()
        back = maker_of(kind)(array)
        assert back.data_ptr() == tensor.data_ptr()
        assert back.dtype == kind
        assert tuple(back.shape) == (2, 3)
    assert reader_of(torch.float32)(torch.tensor(1.5)).shape == ()


def test_dropout_draws_the_numbers_of_eager_torch(torch: Any) -> None:
    x = torch.randn(3, 4, 5).transpose(0, 2)  # they are drawn in the order in memory
    drop = torch.nn.Dropout(0.4)
    torch.manual_seed(3)
    wanted = drop(x)
    torch.manual_seed(3)
    assert torch.equal(torch.compile(drop, backend="pyhlo")(x), wanted)


def test_sizes_that_torch_leaves_open_are_compiled_one_by_one(torch: Any) -> None:
    function = torch.compile(
        lambda x: x.view(len(x) // 2, -1) * len(x), backend="pyhlo", dynamic=True
    )
    for count in (4, 6, 4):
        x = torch.randn(count, 3)
        assert torch.equal(function(x), x.view(count // 2, -1) * count)
    first, second, why = report().splitlines()
    assert [line.rpartition(", ")[2] for line in (first, second)] == ["2 calls", "1 call"]
    assert "(4, 3, 4x3)" in first
    assert why == "    compiled again: x is 6x3 and was 4x3"


def test_what_has_no_rule_runs_in_torch_and_is_listed(torch: Any) -> None:
    def function(x: Any) -> Any:
        return torch.special.airy_ai(x + 1) * 2

    x = torch.eye(3)
    assert torch.allclose(torch.compile(function, backend="pyhlo")(x), function(x))
    head, *lines = report().splitlines()
    assert head.endswith("2 operations in 2 modules, 1 call")
    assert any(f"special_airy_ai.default at {__file__}:" in line for line in lines)


@pytest.mark.parametrize("strictly", [{"fullgraph": True}, {"options": {"fallback": False}}])
def test_or_is_an_error_that_names_it(torch: Any, strictly: Any) -> None:
    function = torch.compile(lambda x: torch.special.airy_ai(x * 2), backend="pyhlo", **strictly)
    with pytest.raises(Exception, match=r"special_airy_ai\.default at .*hlo_torch has no rule"):
        function(torch.eye(3))


def test_an_option_that_there_is_not(torch: Any) -> None:
    function = torch.compile(lambda x: x + 1, backend="pyhlo", options={"falback": True})
    with pytest.raises(Exception, match="PyHLO has no option falback; it has: fallback, dump_to"):
        function(torch.ones(2))


def test_arguments_are_changed_and_looked_at_as_in_eager_torch(torch: Any) -> None:
    def function(x: Any, y: Any) -> Any:
        x.add_(1)
        return x.t(), x[0], y, y * 2

    x, y = torch.randn(3, 4), torch.randn(2)
    copy = x.clone()
    found, wanted = torch.compile(function, backend="pyhlo")(x, y), function(copy, y)
    assert torch.equal(x, copy)
    assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))
    assert found[0].data_ptr() == x.data_ptr(), "a view of the argument"
    assert found[2] is y


def test_half_precision_by_autocast(torch: Any) -> None:
    model, x = torch.nn.Linear(8, 8), torch.randn(4, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found, wanted = torch.compile(model, backend="pyhlo")(x), model(x)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found, wanted, rtol=0.02, atol=0.02)
