"""What differs between two modules, and that nothing else does."""

from pathlib import Path

import pytest

from hlo import Module, parse
from hlo.write.print import Options
from hlo_tools.comparison.diff import Change, diff

TEXT = """HloModule m, replica_count=2

helper {
  p = f32[4] parameter(0)
  ROOT n = f32[4] negate(p)
}

ENTRY e {
  x = f32[4] parameter(0), metadata={op_name="x"}
  y = f32[4] add(x, x)
  ROOT c = f32[4] call(y), to_apply=helper
}
"""


@pytest.fixture
def before() -> Module:
    return parse(TEXT)


def changed(old: str, new: str) -> Module:
    assert old in TEXT
    return parse(TEXT.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "title", "kinds"),
    [
        ("negate(p)", "abs(p)", "%helper", ["changed"]),
        ("ROOT n =", "q = f32[4] abs(p)\n  ROOT n =", "%helper", ["added"]),
        (
            "  y = f32[4] add(x, x)\n  ROOT c = f32[4] call(y)",
            "ROOT c = f32[4] call(x)",
            "%e",
            None,
        ),
        ("replica_count=2", "replica_count=4", "HloModule m", ["changed"]),
        ("HloModule m,", "HloModule k,", "HloModule k", ["changed"]),
        ("add(x, x)", "add(x, x), backend_config={}", "%e", ["changed"]),
    ],
)
def test_one_change_is_found(
    before: Module, old: str, new: str, title: str, kinds: list[str] | None
) -> None:
    (section,) = diff(before, changed(old, new))
    assert section.title == title
    assert section.kind == "changed"
    assert [c.kind for c in section.changes] == (kinds or ["removed", "changed"])


def test_a_module_does_not_differ_from_itself(before: Module) -> None:
    assert diff(before, before) == []
    assert diff(before, parse(str(before))) == []


def test_metadata_counts_only_if_it_is_printed(before: Module) -> None:
    after = changed('op_name="x"', 'op_name="z"')
    assert diff(before, after) == []
    (section,) = diff(before, after, Options())
    assert section.changes[0].kind == "changed"


def test_whole_computations_come_and_go(before: Module) -> None:
    after = parse(TEXT.replace("helper", "other"))
    removed, entry, added = diff(before, after)
    assert (removed.title, removed.kind) == ("%helper", "removed")
    assert [c.kind for c in removed.changes] == ["removed", "removed"]
    assert (added.title, added.kind) == ("%other", "added")
    assert entry.changes == (
        Change(
            "ROOT %c = f32[4]{0} call(%y), to_apply=%helper",
            "ROOT %c = f32[4]{0} call(%y), to_apply=%other",
        ),
    )


def test_a_new_root_and_a_new_entry_are_changes(before: Module) -> None:
    after = parse(
        TEXT.replace("  p = f32[4] parameter(0)", "  ROOT p = f32[4] parameter(0)").replace(
            "  ROOT n", "  n"
        )
    )
    (section,) = diff(before, after)
    assert [c.kind for c in section.changes] == ["changed", "changed"]


def test_large_modules_are_compared_by_name() -> None:
    path = Path(__file__).parents[1] / "models" / "random_numbers.hlo"
    text = path.read_text()
    (section,) = diff(parse(text), parse(text.replace("xor(", "or(", 1)))
    assert len(section.changes) == 1
