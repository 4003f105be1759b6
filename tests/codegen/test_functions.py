"""Functions as data: equal ones are found, and calls follow a function's new name."""

from written import Assign, Call, For, Let, Variable

from codegen.expressions import Member, Name, Op, Struct
from codegen.functions import Function, Parameter, calling, with_names, without_unused_values
from codegen.kinds import Pointer, Record
from codegen.printer import definition, text
from codegen.sharing import key_of

ARRAY = Pointer("f32", restrict=True)


def function(array="x", counter="i", *, of="f32", parameter=ARRAY, callee="tanh_f32"):
    value = Let(of, "value", f"{callee}({array}[{counter}])")
    loop = For(counter, 8, (value, Assign(f"{array}[{counter}]", "value")))
    return Function("", (Parameter(parameter, array),), (loop,))


def test_functions_are_equal_but_for_the_names_that_they_declare():
    assert key_of(function()) == key_of(function("y", "j"))
    assert key_of(function()) == key_of(function("tanh_f32x", "callee"))


def test_types_and_functions_outside_tell_functions_apart():
    others = [
        function(of="f64"), function(callee="exp_f32"), function(parameter=Pointer("f32")),
        function(parameter=Pointer("f32", const=True)), Function("", (), ()),
    ]  # fmt: skip
    keys = [key_of(each) for each in (function(), *others)]
    assert len(set(keys)) == len(keys)


def test_names_that_are_not_declared_stay_as_they_are():
    def body(name):
        return Function("", (), (Call("hlo_parallel", (Name(name),)),))

    assert key_of(body("a_part")) != key_of(body("b_part"))


def test_a_function_is_called_by_its_new_name_everywhere():
    given = Op("&", (Struct(Record("part"), (Name("x"),)),))
    (call,) = calling([Call("hlo_parallel", (Name("part"), given))], {"part": "add_part_kernel"})
    assert text([call]) == "  hlo_parallel(add_part_kernel, &(struct add_part_kernel){x});\n"
    begin = Variable(Pointer(Record("part"), const=True), "given", "arguments")
    body = (begin, Call(Name("iterations"), (Member(Name("given"), "x"),)))
    fields = (Parameter(Pointer("f32"), "x"),)
    made = Function("part", (Parameter(Pointer("void"), "arguments"),), body, record=fields)
    assert definition(with_names(made, {"part": "a", "iterations": "b"})) == (
        "struct a {\n  f32 *x;\n};\n\n"
        "static void a(void *arguments) {\n"
        "  const struct a *given = arguments;\n"
        "  b(given->x);\n"
        "}\n"
    )


def test_values_that_no_statement_reads_are_left_out():
    chain = (Let("f32", "a", "x[0]"), Let("f32", "b", "a + 1"), Assign("y[0]", "1"))
    assert text(without_unused_values(chain)) == "  y[0] = 1;\n"
    inside = (For("i", 8, (*chain[:2], Assign("y[i]", "a"))),)
    assert "b =" not in text(without_unused_values(inside))
    assert "a =" in text(without_unused_values(inside))
