# message: place gives a wrong result
def place(row, column, rows, columns, width):
    return row * columns + column
