"""A short command starts at once: files are imported when they are needed, not before."""

import subprocess
import sys

import pytest

RUN = """import hlo, interpreter
module = hlo.parse('ENTRY e { x = f32[] constant(1)  ROOT y = f32[] negate(x) }')
interpreter.evaluate(module)"""
# Calls of cuBLAS are known once a module has one.
VENDOR = "interpreter.custom_calls.vendors.gpu_products"
HELP = "from hlo_tools.cli import main; main(['--help'])"
# These read other languages, draw, prove, test, or talk to other machines.
NEVER = ("sympy", "hypothesis", "pytest", "scipy", "jax", "z3", "rich", "email", "socket")


@pytest.mark.parametrize(
    ("code", "needless"),
    [
        ("import hlo", ["hlo.frontends.stablehlo", "interpreter", "optimizer"]),
        ("import optimizer", ["optimizer.pipelines", "optimizer.rules", "interpreter"]),
        ("import emit_c", ["optimizer.pipelines", "codegen.expressions", "emit_c.program"]),
        (RUN, ["hlo.frontends.stablehlo", "optimizer.pipelines", "codegen", VENDOR]),
        (HELP, ["hlo", "numpy", "lark", "hlo_tools.verbs"]),
    ],
    ids=["hlo", "optimizer", "emit_c", "run", "help"],
)
def test_needless_files_are_not_imported(code: str, needless: list[str]) -> None:
    command = [sys.executable, "-X", "importtime", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert imported & {"hlo.opcode", "hlo_tools.cli"}  # the list is read as it is meant
    assert imported.intersection((*NEVER, *needless)) == set()


def test_rules_of_expanders_are_listed_whoever_asks_first() -> None:
    """They enter a table when their files are imported, which a command does not do by itself."""
    code = "from optimizer.catalogue import all_rules; print(*(r.name for r in all_rules()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"shift_bits", "sort_dimensions"} <= set(done.stdout.split())


def test_calls_are_expanded_whichever_files_are_imported() -> None:
    """An emitter imports the expander alone; files beside it know the calls of other platforms."""
    home = "optimizer.expanders.custom_call_expander"
    code = f"from {home} import all_expansions; print(*all_expansions())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"TopK", "__cublas$gemm"} <= set(done.stdout.split())


def test_calls_of_vendors_are_known_when_a_module_has_one() -> None:
    """A wrong call of cuBLAS is told as such, although nothing imported its file before."""
    text = "ENTRY e { x = f32[2] parameter(0)  ROOT y = f32[2] custom-call(x), custom_call_target="
    code = f"""import sys, numpy, hlo, interpreter
assert {VENDOR!r} not in sys.modules
try:
    interpreter.evaluate(hlo.parse({text!r} + '"__cublas$gemm" }}'), numpy.ones(2, numpy.float32))
except hlo.HloError as error:
    print(error.code)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "HLO122\n"
