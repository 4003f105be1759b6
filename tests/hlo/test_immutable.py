"""Nothing of a module can be changed: others hold it too."""

from dataclasses import FrozenInstanceError, fields, replace

import pytest

import hlo
from hlo.instruction import Instruction

MODULE = hlo.parse("""HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  ROOT y = f32[2] negate(x)
}""")


@pytest.mark.parametrize("part", [MODULE, MODULE.entry, MODULE.entry.root], ids=lambda p: p.name)
def test_fields_are_neither_assigned_nor_deleted(part):
    for each in fields(part):
        with pytest.raises(FrozenInstanceError, match=each.name):
            setattr(part, each.name, None)
        with pytest.raises(FrozenInstanceError, match=each.name):
            delattr(part, each.name)


@pytest.mark.parametrize("named", [replace, Instruction.with_], ids=["replace", "with_"])
def test_a_copy_is_as_frozen(named):
    copy = named(MODULE.entry.root, name="z")
    assert (copy.name, MODULE.entry.root.name) == ("z", "y")
    with pytest.raises(FrozenInstanceError):
        copy.name = "w"
