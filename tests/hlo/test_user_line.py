"""Errors on a dump name the line of the user's program, as its metadata or locations tell it."""

import pytest

import hlo
import interpreter
from hlo.frontends import stablehlo

METADATA = """HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  ROOT y = f32[4] add(x), metadata={op_name="jit(f)/add" source_file="train.py" source_line=17}
}"""
FRAMES = """HloModule m

FileNames
1 "train.py"
2 "model.py"

FunctionNames
1 "main"

FileLocations
1 {file_name_id=1 function_name_id=1 line=9 end_line=9 column=4 end_column=10}
2 {file_name_id=2 function_name_id=1 line=5 end_line=5 column=16 end_column=58}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}

ENTRY e {
  x = f32[4] parameter(0)
  ROOT y = f32[4] add(x), metadata={op_name="jit(f)/add" stack_frame_id=2}
}"""
LOCATIONS = """#loc1 = loc("x")
module @m {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %y = stablehlo.nagate %x : tensor<4xf32> loc(#loc3)
    return %y : tensor<4xf32>
  }
}
#loc2 = loc("model.py":5:16 to :58)
#loc3 = loc("jit(f)/neg"(#loc2))
"""
TOLD = {
    METADATA: "in the program: train.py:17 (jit(f)/add)",
    FRAMES: "in the program: model.py:5 (jit(f)/add)",
    LOCATIONS: "in the program: model.py:5 (jit(f)/neg)",
}


@pytest.mark.parametrize("text", TOLD, ids=["metadata", "stack frames", "locations"])
def test_an_error_names_the_line(text: str) -> None:
    with pytest.raises(hlo.HloError) as caught:
        (stablehlo if "stablehlo" in text else hlo).parse(text)
    assert str(caught.value).splitlines()[-1] == f"   = {TOLD[text]}"


def test_so_does_one_of_a_run() -> None:
    told = 'metadata={source_file="a.py" source_line=3}'
    module = hlo.parse(f"""HloModule m
    ENTRY e {{
      x = f32[2] parameter(0)
      ROOT y = f32[2] custom-call(x), custom_call_target="f", {told}
    }}""")
    with pytest.raises(hlo.HloError) as caught:
        interpreter.evaluate(module, [1.0, 2.0])
    assert "   = in the program: a.py:3" in str(caught.value)


def test_where_nothing_is_known_nothing_is_said() -> None:
    with pytest.raises(hlo.HloError) as caught:
        hlo.parse('ENTRY e { ROOT x = f32[4] nagate(), metadata={op_type="}"} }')
    assert "in the program" not in str(caught.value)
