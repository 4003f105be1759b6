# message: passes_through gives a wrong result
def passes_through(source, middle, target):
    """Safe, and of no use."""
    return False
