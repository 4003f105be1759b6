"""Programs for passes over kernels: `tests/cases/kernels/<pass>/<what is shown>.hlo`.

    // What the program shows.
    // for T: f32 u8; rows, n: 20 3 | 100 7
    // if n > 3
    // of whole -9 9
    // gives bits within 4
    // as it is
    a module with <T>, <rows> and <2 * n> in it

C gives what the interpreter gives, for all of the words' values, each with those of the other
words. The pass changes loops where the condition holds; without one, for the first values. `of`
says what the arguments are: whole numbers from one to another; `special` ones: NaN, infinities,
both zeros, all integers; or small ones, with `edges` a row of zeros and an infinity among them.
`gives` says how exact the result is, or each element of a tuple: to the bit, which is the rule;
`within` so many units in the last place; or `rounded`, by so many of the largest number. A module
`as it is` is not optimized.
"""

import itertools
import re

import numpy as np
import pytest
from emitted import checked
from loop_cases import CASES
from strategies.compiled import arguments_for, whole

import hlo
from interpreter.numbers.compare import BITS, ROUNDING

FILES = sorted((CASES / "kernels").glob("*/*.hlo"))
FORM = re.compile(
    r"(// (?!for |if |of |gives |as it is)[^\n]+\n)+(// for (?P<words>[^\n]+)\n)?"
    r"(// if (?P<condition>[^\n]+)\n)?(// of (?P<values>[^\n]+)\n)?"
    r"(// gives (?P<promises>[^\n]+)\n)?(?P<plain>// as it is\n)?(?P<module>[^/].*)",
    re.DOTALL,
)


def values_of(words):
    """Each choice of values for the words: `T: f32 u8; rows, n: 20 3 | 100 7`."""
    choices = []
    for each in filter(None, (words or "").split("; ")):
        names, _, listed = each.partition(": ")
        rows = listed.split(" | ") if "," in names else listed.split(" ")
        choices.append([dict(zip(names.split(", "), row.split(" "), strict=True)) for row in rows])
    for chosen in itertools.product(*choices):
        merged = {name: value for row in chosen for name, value in row.items()}
        yield {name: int(v) if re.fullmatch(r"-?\d+", v) else v for name, v in merged.items()}


def special(module):
    """Numbers of all sizes and signs, among floats NaN, infinities and both zeros."""
    generator = np.random.default_rng(3)
    for parameter in module.entry.parameters:
        kind, dims = parameter.shape.element_type, parameter.shape.dims
        if kind.is_floating:
            array = generator.standard_normal(dims) * 2.0 ** generator.integers(-30, 20, dims)
            chosen = generator.choice([np.nan, -np.inf, np.inf, 0, -0.0, 65520], dims)
            array = np.where(generator.random(dims) < 0.1, chosen, array)
        else:
            array = generator.integers(0, 1 << 64, dims, np.uint64)
        with np.errstate(all="ignore"):
            yield np.asarray(array).astype(kind.dtype)


def edges(module):
    """Small numbers; the first row of each float is zero, and the last number infinite."""
    made = arguments_for(module)
    for array in made:
        if array.ndim and array.dtype.kind == "f":
            array[0], array.flat[-1] = 0, np.inf
    return made


def promises(text):
    """What `gives` says, for a value, or for the elements of a tuple."""
    each = tuple(
        BITS.within(int(ulps)) if ulps else {"bits": BITS, "rounded": ROUNDING}[word]
        for word, ulps in re.findall(r"(bits|rounded|within) ?(\d+)?", text or "bits")
    )
    return each if len(each) > 1 else each[0]


def arguments(values):
    match (values or "").split():
        case ["whole", low, high]:
            return whole(int(low), int(high))
        case ["special"]:
            return lambda module: list(special(module))
        case ["edges"]:
            return edges
        case _:
            return arguments_for


def programs():
    for path in FILES:
        form = FORM.fullmatch(path.read_text())
        assert form, path
        for k, words in enumerate(values_of(form["words"])):
            condition = form["condition"]
            fires = eval(condition, None, words) if condition else None if k else True
            chosen = " ".join(map(str, words.values()))
            yield pytest.param(path.parent.name, form, words, fires, id=f"{path.stem} {chosen}")


@pytest.mark.parametrize(("name", "form", "words", "fires"), list(programs()))
def test_values(name, form, words, fires):
    def spelled(text):
        return re.sub(r"<([^<>\n]+)>", lambda found: str(eval(found[1], None, words)), text)

    module, optimize = hlo.parse(spelled(form["module"])), not form["plain"]
    promise = promises(spelled(form["promises"] or ""))
    made = checked(module, promise, optimize=optimize, arguments=arguments(form["values"]))
    assert fires is None or (name in made.passes) == fires, sorted(made.passes)
