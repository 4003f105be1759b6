# message: clusters compiles
def clusters(operations):
    at, by_python, last = {}, set(), 0
    for name, operands, compiled in operations:
        at[name] = max((at[o] + (compiled and o in by_python) for o in operands), default=0)
        if not compiled:
            last = at[name] = max(at[name], last)
            by_python.add(name)
    return list(at.values())
