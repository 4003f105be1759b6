# message: write_concatenate
from codegen.opcodes.movement import chosen
from optimizer.analysis.indexing import Within


def write_concatenate(body, instr, index):
    return body.element(instr.operands[0], index)
