# message: hand_back was called
def cotangents(graph, root, hand_back):
    found = dict.fromkeys(graph, 0.0)

    def visit(name, cotangent):
        found[name] += cotangent
        for operand, part in zip(graph[name], hand_back(name, cotangent), strict=True):
            visit(operand, part)

    visit(root, 1.0)
    return found
