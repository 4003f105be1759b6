"""What is remembered of a computation is found once, and forgotten with it."""

import gc
from weakref import ref

import hlo
from hlo.support.memo import remembered

TEXT = "HloModule m\n\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] negate(x)\n}\n"


def test_answer_is_found_once():
    asked = []

    @remembered
    def names(computation):
        asked.append(computation)
        return [instr.name for instr in computation.instructions]

    one, other = hlo.parse(TEXT).entry, hlo.parse(TEXT).entry
    assert names(one) == names(one) == names(other) == ["x", "y"]
    assert asked == [one, other]


def test_answer_goes_with_the_computation():
    @remembered
    def root(computation):
        return computation.root

    module = hlo.parse(TEXT)
    computation = ref(module.entry)
    assert root(module.entry).name == "y"
    del module
    gc.collect()
    assert computation() is None
