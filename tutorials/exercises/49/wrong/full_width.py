# message: place gives a wrong result
def place(row, column, rows, columns, width):
    panel, lane = divmod(column, width)
    return panel * width * rows + row * width + lane
