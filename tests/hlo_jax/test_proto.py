"""Protocol buffers, and the options that come in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_jax.abi.proto import bytes_field, fields, number_field, packed, varint
from hlo_jax.programs.options import device_numbers

NUMBERS = st.integers(0, 2**64 - 1)


@given(st.lists(NUMBERS))
def test_numbers_come_back(numbers: list[int]) -> None:
    assert packed(b"".join(map(varint, numbers))) == numbers


@given(st.lists(st.tuples(st.integers(1, 5000), st.one_of(NUMBERS, st.binary()))))
def test_fields_come_back(given_fields: list[tuple[int, int | bytes]]) -> None:
    message = b"".join(
        number_field(k, v) if isinstance(v, int) else bytes_field(k, v) for k, v in given_fields
    )
    assert list(fields(message)) == given_fields


@pytest.mark.parametrize("damaged", [b"\x08", b"\x0a\x05abc", b"\x0b", b"\xff\xff"])
def test_what_is_no_message_is_refused(damaged: bytes) -> None:
    with pytest.raises(ValueError, match=r"varint|after the message|wire type"):
        list(fields(damaged))


def test_devices_are_listed_by_replica_and_then_by_partition() -> None:
    """What `DeviceAssignment.create([[0, 1], [2, 3]]).serialize()` gives."""
    assignment = b"\x08\x02\x10\x02\x1a\x04\n\x02\x00\x02\x1a\x04\n\x02\x01\x03"
    assert device_numbers(assignment) == (0, 1, 2, 3)
