# message: prices gives a wrong result
from math import inf


def prices(classes, price):
    best = dict.fromkeys(classes, inf)
    for _ in range(20):
        for name, forms in classes.items():
            # An operand that comes twice is paid once.
            best[name] = min(
                price[opcode] + sum(best[o] for o in set(operands)) for opcode, *operands in forms
            )
    return {name: None if total == inf else total for name, total in best.items()}
