# message: plan moves
def plan(work, moves):
    return [layer.index(min(layer)) for layer in work]
