"""Statements for tests, of expressions that are written as C."""

from reading import callee, read

from codegen import statements


def tree(value):
    return read(value) if isinstance(value, str) else value


def Let(kind, name, value):  # noqa: N802 - as what it makes
    return statements.Let(kind, name, tree(value))


def Variable(kind, name, value=None, size=None, work=0):  # noqa: N802
    return statements.LocalVariable(kind, name, tree(value), size, work)


def Assign(target, value):  # noqa: N802
    return statements.Assign(tree(target), tree(value))


def For(name, stop, body, start=0, **options):  # noqa: N802
    return statements.For(name, tree(stop), body, tree(start), **options)


def If(condition, then, otherwise=()):  # noqa: N802
    return statements.If(tree(condition), then, otherwise)


def Call(function, arguments, work=0):  # noqa: N802
    known = callee(function) if isinstance(function, str) else function
    return statements.Call(known, tuple(map(tree, arguments)), work)
