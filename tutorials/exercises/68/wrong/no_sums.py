# message: division gives a wrong result
def division(left, right, result, cut):
    return (result.index(cut) if cut in result else None), False
