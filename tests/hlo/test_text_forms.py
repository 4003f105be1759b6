"""Every form in which HLO may be written, and the one form in which it is printed."""

from pathlib import Path

import pytest

import hlo
from hlo.write.print import Options, print_module

CASES = Path(__file__).parents[1] / "cases" / "text"
SURROUNDINGS = (CASES / "surroundings.hlo").read_text().rstrip().removesuffix("}")
MODULES = sorted(p for p in CASES.glob("*.hlo") if p.stem != "surroundings")


def table(name: str) -> list[tuple[str, list[str]]]:
    """What is written at a line's start, and what is indented below it."""
    blocks = (CASES / name).read_text().split("\n\n")[1:]
    rows = [block.strip().splitlines() for block in blocks if block.strip()]
    return [(written, [line.strip() for line in lines]) for written, *lines in rows]


def entry_lines(module: hlo.Module) -> list[str]:
    """The lines of the last computation that is printed, without indentation."""
    return [line.strip() for line in str(module).rstrip().rpartition("{\n")[2].splitlines()[:-1]]


@pytest.mark.parametrize(("written", "printed"), table("instructions.txt"))
def test_instruction(written: str, printed: list[str]) -> None:
    module = hlo.parse(f"{SURROUNDINGS}  {written}\n}}\n")
    # XLA writes as the root what is last, and leaves out nothing that is unused.
    parameters = {f"%{p.name}" for p in module.entry.parameters}
    assert [line for line in entry_lines(module) if line.split()[0] not in parameters] == printed
    assert str(hlo.parse(str(module))) == str(module)


@pytest.mark.parametrize(("written", "printed"), table("literals.txt"))
def test_literal(written: str, printed: list[str]) -> None:
    module = hlo.parse(f"ENTRY e {{\n  r = {written}\n}}\n")
    assert entry_lines(module) == [f"ROOT %r = {printed[0]}"]
    again = hlo.parse(str(module))
    assert again.entry.root.attrs == module.entry.root.attrs


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_module(path: Path) -> None:
    written, _, printed = path.read_text().partition("\n// EXPECT\n")
    module = hlo.parse(written)
    assert str(module).strip() == printed.strip()
    assert str(hlo.parse(printed)) == str(module)


MODULE = """\
HloModule m

sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }

ENTRY main {
  x = f32[3,4] parameter(0), metadata={op_name="x"}
  big = f32[11] constant({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
  small = (f32[2]) constant(({1, 2}))
  zero = f32[] constant(0)
  y = f32[3] reduce(x, zero), dimensions={1}, to_apply=sum, backend_config={"k":1}
  ROOT z = f32[3] negate(y), control-predecessors={big, small}
}
"""


def printed(**options: bool) -> str:
    return hlo.parse(MODULE).to_string(**options)


def test_short_parsable_text_reads_back() -> None:
    module = hlo.parse(MODULE)
    short = print_module(module, Options.short_parsable())
    assert "%" not in short
    assert "metadata" not in short
    assert hlo.parse(short).to_string(print_metadata=False) == printed(print_metadata=False)


def test_large_constants_are_left_out_on_demand() -> None:
    text = printed(print_large_constants=False)
    # Tuples are left out too, whatever their size, as XLA does.
    assert "%big = f32[11]{0} constant({...})" in text
    assert "%small = (f32[2]{0}) constant({...})" in text
    assert "%zero = f32[] constant(0)" in text


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("print_operand_shape", True, "reduce(f32[3,4]{1,0} %x, f32[] %zero)"),
        ("print_operand_names", False, "%y = f32[3]{0} reduce(, ), dimensions={1}"),
        ("print_percent", False, "y = f32[3]{0} reduce(x, zero), dimensions={1}, to_apply=sum"),
        ("print_result_shape", False, "%y = reduce(%x, %zero)"),
        ("include_layout_in_shapes", False, "%y = f32[3] reduce(%x, %zero)"),
        ("print_program_shape", False, "ENTRY %main {"),
        ("print_extra_attributes", False, "reduce(%x, %zero), to_apply=%sum"),
        ("print_backend_config", False, "to_apply=%sum\n"),
        ("print_control_dependencies", False, "ROOT %z = f32[3]{0} negate(%y)\n"),
        ("print_metadata", False, "%x = f32[3,4]{1,0} parameter(0)\n"),
    ],
)
def test_printing_option(option: str, value: bool, expected: str) -> None:
    assert expected not in printed()
    assert expected in printed(**{option: value})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('{ {"a"} }', "expects `:`"),
        ('{ {"a"} : {"b"}, }', "expects a string"),
        ('{ {"a"} : {"b"}, "ENTRY" }', "expects"),
        ("{ a }", "unexpected `a `"),
    ],
)
def test_what_is_no_recovery_table_is_refused(table: str, message: str) -> None:
    text = f"HloModule m, origin_recovery_table={table}\nENTRY e {{ ROOT p = f32[] parameter(0) }}"
    with pytest.raises(hlo.HloError, match=message) as caught:
        hlo.parse(text)
    assert caught.value.span is not None


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("module @jit_f attributes {mhlo.num_partitions = 1 : i32} {\n}", "MLIR"),
        ("#loc = loc(unknown)\nmodule @jit_f {\n}", "MLIR"),
        ("module {\n  func.func @main() {\n", "MLIR"),
        ("{ lambda ; a:f32[2]. let b:f32[2] = sin a in (b,) }", "jaxpr"),
        ("; ModuleID = 'x'\nsource_filename = \"x\"\n", "LLVM"),
        ("HloModule m\n\nmodule {", ""),
        ("let me see", ""),
    ],
)
def test_other_languages_are_told(text: str, hint: str) -> None:
    with pytest.raises(hlo.HloError) as caught:
        hlo.parse(text)
    notes = " ".join(caught.value.notes)
    assert (hint in notes) if hint else ("not HLO" not in notes)
