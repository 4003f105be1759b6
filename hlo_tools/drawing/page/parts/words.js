// A line as words: names that can be clicked, shapes, opcodes in the colour of their family.

const NAME = /%[\w.\-]+/g;

// Letters up to which a line is laid out as a whole, and those of a piece of a longer one.
const MOST_LETTERS = 2000, PIECE = 400;

// Words in pieces of which the browser lays out those that can be seen: a tuple of all results may
// have 30,000 letters. A letter's width is known, so that nothing moves.
function inPieces(words) {
  const pieces = [];
  let piece = [], letters = 0;
  const end = () => {
    pieces.push(el("span", { class: "piece", style: `contain-intrinsic-width: ${letters}ch` }, ...piece));
    [piece, letters] = [[], 0];
  };
  for (const word of words) {
    const text = typeof word === "string" ? word : word.textContent;
    for (let from = 0; from < text.length; from += PIECE) {
      const part = text.slice(from, from + PIECE);
      if (letters + part.length > PIECE) end();
      piece.push(text.length <= PIECE ? word : typeof word === "string" ? part : el("span", { class: word.className }, part));
      letters += part.length;
    }
  }
  end();
  return pieces;
}

class Words {
  // options: what is shown of a line.
  constructor(trace, options) {
    this.trace = trace;
    this.options = options;
  }

  // The text of a row as it is shown; `isWhole` shows what is folded, too.
  textOf(row, isWhole = false) {
    const { trace, options } = this;
    return options.isOn("layouts") || isWhole ? trace.textOf(row) : trace.shortOf(row);
  }

  // How many letters a row has, with the user's line beside it.
  lettersOf(row, isWhole = false) {
    return this.textOf(row, isWhole).length + this.besides(row).length;
  }

  // The user's line, as a comment beside an instruction; empty unless it is wanted.
  besides(row) {
    const { trace, options } = this;
    if (!options.isOn("source") || !trace.isInstruction(row)) return "";
    const [name, place, line] = trace.sourceOf(row);
    return name || place ? `   // ${[place || name, line].filter(Boolean).join("  ")}` : "";
  }

  // The words of a row. `bound` maps the names of bound instructions to their variables.
  ofRow(row, selected, bound, isWhole = false) {
    const { trace } = this, kind = trace.rows.kind[row], text = this.textOf(row, isWhole);
    if (kind > ROOT) return [el("span", { class: "frame" }, text)];
    const opcode = trace.rows.opcode[row], [opcodeName, , family] = trace.opcodes[opcode];
    const equals = text.indexOf(" = ") + 3, at = Math.max(equals, text.indexOf(` ${opcodeName}(`, equals - 1) + 1);
    const made = [
      kind === ROOT ? el("span", { class: "root" }, "ROOT ") : "",
      this.name("%" + trace.nameOf(row), selected, bound, "defined"),
      el("span", { class: "dim" }, " = "),
      el("span", { class: "shape" }, text.slice(equals, at)),
      el("span", { class: `opcode family-${family}` }, text.slice(at, at + opcodeName.length)),
      ...this.ofText(text.slice(at + opcodeName.length), selected, bound),
    ];
    const besides = this.besides(row);
    if (besides) made.push(el("span", { class: "beside" }, besides));
    return text.length > MOST_LETTERS ? inPieces(made) : made;
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

const CODE = new RegExp([
  "(?<comment>//.*|/\\*.*?(?:\\*/|$)|^\\s*[#;].*)",
  "(?<text>\"(?:[^\"\\\\]|\\\\.)*\")",
  "(?<keyword>\\b(?:for|if|else|while|do|return|static|const|restrict|inline|void|struct|typedef|__global__|__device__|__shared__|__restrict__|extern|switch|case|break|continue|sizeof)\\b)",
  "(?<type>\\b(?:[fsu](?:8|16|32|64)(?:x\\d+)?|bf16|pred|int|char|float|double|bool|size_t|u?int\\d+_t)\\b)",
].join("|"), "g");

// A line of C, CUDA, PTX or assembly, its words in colours.
function codeWords(text) {
  const made = [];
  let from = 0;
  for (const match of text.matchAll(CODE)) {
    const kind = Object.keys(match.groups).find((key) => match.groups[key] !== undefined);
    made.push(text.slice(from, match.index), el("span", { class: `code-${kind}` }, match[0]));
    from = match.index + match[0].length;
  }
  made.push(text.slice(from));
  return made;
}

// A name that may be broken after each `_`.
function breakable(name) {
  return name.split(/(?<=_)/).flatMap((part, n) => n ? [el("wbr", {}), part] : [part]);
}
