# message: solve gives a wrong result
def solve(nodes, transfer, readers, first):
    facts = dict.fromkeys(nodes, first)
    for node in nodes:
        facts[node] = transfer(node, facts)
    return facts
