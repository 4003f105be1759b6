# message: least_seconds gives a wrong result
def least_seconds(rows, inner, columns, bytes_per_second, flops_per_second):
    numbers = rows * inner + inner * columns
    return max(4 * numbers / bytes_per_second, 2 * rows * inner * columns / flops_per_second)
