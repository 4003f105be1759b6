# message: write_concatenate
from codegen.opcodes.movement import chosen
from optimizer.analysis.indexing import Within


def write_concatenate(body, instr, index):
    """Element 0 of the second operand is not at the same place in the result."""
    d, start, cases = instr.attrs.dimensions[0], 0, []
    for operand in instr.operands:
        end = start + operand.shape.dims[d]
        cases.append((body.holds([Within(index[d], start, end)]), operand, index))
        start = end
    return chosen(body, instr, cases)
