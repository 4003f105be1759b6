# message: plan moves
def plan(work, moves):
    chosen = [work[0].index(min(work[0]))]
    for layer in work[1:]:
        costs = [moves[chosen[-1]][cut] + cost for cut, cost in enumerate(layer)]
        chosen.append(costs.index(min(costs)))
    return chosen
