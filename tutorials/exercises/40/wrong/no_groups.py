# message: bytes where
def groups(computation):
    return []
