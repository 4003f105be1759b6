// A line as words: names that can be clicked, shapes, opcodes in the colour of their family.

const NAME = /%[\w.\-]+/g;

class Words {
  constructor(trace) {
    this.trace = trace;
  }

  // The words of a row. `bound` maps the names of bound instructions to their variables.
  ofRow(row, selected, bound) {
    const { trace } = this, kind = trace.rows.kind[row];
    if (kind > ROOT) {
      return [el("span", { class: "frame" }, trace.textOf(row))];
    }
    const rest = trace.rests[trace.rows.rest[row]], opcode = trace.rows.opcode[row];
    const end = Math.max(rest.indexOf("("), 0);
    return [
      kind === ROOT ? el("span", { class: "root" }, "ROOT ") : "",
      this.name("%" + trace.nameOf(row), selected, bound, "defined"),
      el("span", { class: "dim" }, " = "),
      el("span", { class: "shape" }, trace.shapes[trace.rows.shape[row]][0] + " "),
      el("span", { class: `opcode family-${trace.opcodes[opcode][2]}` }, rest.slice(0, end)),
      ...this.ofText(rest.slice(end), selected, bound),
    ];
  }

  // A text in which names of instructions can be clicked.
  ofText(text, selected, bound) {
    const made = [];
    let from = 0;
    for (const match of text.matchAll(NAME)) {
      made.push(text.slice(from, match.index), this.name(match[0], selected, bound, ""));
      from = match.index + match[0].length;
    }
    made.push(text.slice(from));
    return made;
  }

  name(text, selected, bound, kind) {
    const number = this.trace.nameNumber.get(text.slice(1));
    if (number === undefined) return text;
    const variable = bound && bound.get(number);
    const classes = ["name", kind, number === selected ? "chosen" : "", variable ? `variable v${variable.colour}` : ""];
    const made = el("span", { class: classes.filter(Boolean).join(" "), "data-name": number }, text);
    if (variable) made.append(el("sup", { title: `the rule's ${variable.name}` }, variable.name));
    return made;
  }
}

// A name that may be broken behind each `_`.
function breakable(name) {
  return name.split(/(?<=_)/).flatMap((part, n) => n ? [el("wbr", {}), part] : [part]);
}
