# message: solve gives a wrong result
def solve(nodes, transfer, readers, first):
    facts, waiting, done = dict.fromkeys(nodes, first), list(nodes), set()
    while waiting:
        node = waiting.pop(0)
        if node not in done:
            done.add(node)
            facts[node] = transfer(node, facts)
            waiting += readers[node]
    return facts
