"""The matrix opcode x table: what each package knows of each opcode; no gap without a reason."""

import pytest

from hlo.opcode import OPCODES
from hlo_tools.verbs.ops import load_tables

TABLES = load_tables()


def test_there_are_133_opcodes() -> None:
    assert len(OPCODES) == 133


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_no_gap_without_a_reason(name: str) -> None:
    assert TABLES[name].gaps() == []


@pytest.mark.parametrize("name", TABLES)
def test_what_is_left_out_has_a_reason_and_no_definition(name: str) -> None:
    table = TABLES[name]
    assert all(reason for reason in table.not_supported.values())
    assert not [opcode for opcode in table.not_supported if opcode in table]
    assert set(table.not_supported) <= OPCODES.keys()
