# message: written_out leaves short loops
from dataclasses import replace

from codegen.expressions import Literal, Name
from codegen.statements import For, If, Let, LocalVariable, renamed


def is_short(loop):
    counts = isinstance(loop.stop, int) and (loop.start, loop.step) == (0, 1) and loop.stop <= 4
    return counts and not any(isinstance(s, For | If) for s in loop.body)


def written_out(body, statements):
    made = []
    for each in statements:
        if not isinstance(each, For):
            made.append(each)
        elif not is_short(each):
            made.append(each)
        else:
            for iteration in range(each.stop):
                names = {each.name: Literal(iteration)}
                for inner in each.body:
                    new = renamed(inner, names)
                    if isinstance(new, Let | LocalVariable):
                        name = body.name(new.name)
                        names[new.name] = Name(name)
                        new = replace(new, name=name)
                    made.append(new)
    return made
