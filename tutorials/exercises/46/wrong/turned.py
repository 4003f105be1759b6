# message: write_concatenate
from codegen.opcodes.movement import chosen
from optimizer.analysis.indexing import Within


def write_concatenate(body, instr, index):
    """The operands in the other order."""
    d, start, cases = instr.attrs.dimensions[0], 0, []
    for operand in instr.operands[::-1]:
        end = start + operand.shape.dims[d]
        here = (*index[:d], index[d] + -start, *index[d + 1 :])
        cases.append((body.holds([Within(index[d], start, end)]), operand, here))
        start = end
    return chosen(body, instr, cases)
