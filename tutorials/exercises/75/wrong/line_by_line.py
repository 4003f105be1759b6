# message: clusters compiles
def clusters(operations):
    numbers, number, last = [], 0, True
    for _, _, compiled in operations:
        number += compiled and not last
        last = compiled
        numbers.append(number)
    return numbers
