# message: write_concatenate
from codegen.indexing import Within
from codegen.opcodes.movement import chosen


def write_concatenate(body, instr, index):
    return body.element(instr.operands[0], index)
