# message: may_jam gives a wrong result
def may_jam(rows, columns, times, store, load):
    return True
