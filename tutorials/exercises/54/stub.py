"""Exercise 54: the least price of each class.

`classes` is a dictionary from names of classes to lists of forms. A form is an opcode and the names
of the classes of its operands. `price` is a dictionary from opcodes to numbers. A form costs the
price of its opcode and the price of each operand; a class costs what its cheapest form does.

`prices(classes, price)` gives a dictionary from names of classes to their prices. A class may
need itself, at once or through others. If all of its forms do, it has no price: None.

    classes = {"a": [("x",), ("negate", "b")], "b": [("negate", "a")], "c": [("negate", "c")]}
    prices(classes, {"x": 0, "negate": 1})    {"a": 0, "b": 1, "c": None}
"""


def prices(classes, price):
    raise NotImplementedError("not written yet")
