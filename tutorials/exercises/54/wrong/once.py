# message: prices gives a wrong result
def prices(classes, price):
    best = {}
    for _ in classes:
        for name, forms in classes.items():
            if name not in best:  # the first price that is found
                known = [f for f in forms if all(o in best for o in f[1:])]
                if known:
                    best[name] = min(price[f[0]] + sum(best[o] for o in f[1:]) for f in known)
    return {name: best.get(name) for name in classes}
