# message: division gives a wrong result
def division(left, right, result, cut):
    return (left.index(cut), False) if cut in left and cut in result else (None, cut in left)
