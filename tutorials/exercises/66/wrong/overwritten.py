# message: cotangents gives a wrong result
def cotangents(graph, root, hand_back):
    found = dict.fromkeys(graph, 0.0)
    found[root] = 1.0
    for name in reversed(list(graph)):
        if found[name]:
            found.update(zip(graph[name], hand_back(name, found[name]), strict=True))
    return found
