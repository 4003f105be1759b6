"""Exercise 7: spell a shape.

    shape_text("f32", (2, 3), (1, 0))  is  "f32[2,3]{1,0}"
    shape_text("f32", (2, 3), None)    is  "f32[2,3]"
    shape_text("s32", (), ())          is  "s32[]"

`order` is the layout: the dimensions from the fastest to the slowest. An array without dimensions
has no layout to show.
"""


def shape_text(name, dims, order):
    raise NotImplementedError("not written yet")
