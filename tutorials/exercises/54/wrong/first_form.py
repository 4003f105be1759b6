# message: prices gives a wrong result
def prices(classes, price):
    def of(name, above=()):
        if name in above:
            return None
        opcode, *operands = classes[name][0]
        below = [of(o, (*above, name)) for o in operands]
        return None if None in below else price[opcode] + sum(below)

    return {name: of(name) for name in classes}
