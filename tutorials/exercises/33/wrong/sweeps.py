# message: facts where 199 would do
def solve(nodes, transfer, readers, first):
    facts, before = dict.fromkeys(nodes, first), None
    while facts != before:
        before = dict(facts)
        for node in nodes:
            facts[node] = transfer(node, facts)
    return facts
