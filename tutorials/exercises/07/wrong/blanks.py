# message: shape_text gives a wrong result
def shape_text(name, dims, order):
    text = f"{name}[{', '.join(map(str, dims))}]"
    return text if not order else text + "{" + ", ".join(map(str, order)) + "}"
