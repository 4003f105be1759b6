# message: clusters gives a wrong result
def clusters(operations):
    at, by_python = {}, set()
    for name, operands, compiled in operations:
        at[name] = max((at[o] + (compiled and o in by_python) for o in operands), default=-1)
        at[name] = max(at[name], 0 if compiled else -1)
        if not compiled:
            by_python.add(name)
    return list(at.values())
