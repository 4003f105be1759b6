# message: read_shape gives a wrong result
import ast
import re


def read_shape(text):
    text = re.sub(r"(f32|s8|pred)\s*\[([\d, ]*)\]", r"('\1', \2)", text)
    try:
        shape = ast.literal_eval(text.strip())
    except SyntaxError as error:
        raise ValueError(text) from error
    return shape
