# message: signature gives a wrong result
def signature(arguments, constants):
    return repr(arguments)
