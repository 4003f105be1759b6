# message: one loop nest can only end with it
def groups(computation):
    return [[i for i in computation.instructions if i.opcode != "parameter"]]
