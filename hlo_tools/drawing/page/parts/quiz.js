// Predict before you look: the new lines stay covered until one of four is chosen.

const LETTERS = ["a", "b", "c", "d"];
// Opcodes that nobody would take for another one of their family.
const NOT_ALIKE = new Set(["parameter", "constant", "iota", "tuple", "get-tuple-element", "fusion", "call", "while"]);

class Quiz {
  constructor(app) {
    this.app = app;
    this.isOn = false;
    this.answers = new Map(); // by the place: which choice, and whether it is right; null where it was only shown
    byId("give-up").addEventListener("click", () => this.answer(null));
    byId("onward").addEventListener("click", () => app.nextStep(1));
  }

  toggle() {
    this.isOn = !this.isOn;
    byId("quiz").setAttribute("aria-pressed", this.isOn ? "true" : "false");
    this.app.go({});
  }

  get place() {
    return `${this.app.pass}/${this.app.step}`;
  }

  hides() {
    return this.isOn && this.app.step > 0 && this.app.from === null && !this.answers.has(this.place);
  }

  // Ask about the change that is shown, or tell how the answer was.
  cover(pass, step) {
    document.body.classList.toggle("covered", this.hides());
    const isAsked = this.isOn && step > 0 && this.app.from === null;
    show(byId("question"), isAsked);
    show(byId("score"), this.isOn);
    byId("score").textContent = `${this.right} of ${this.answers.size} right`;
    if (!isAsked) return;
    const { trace } = this.app, change = trace.passes[pass].steps[step - 1];
    const old = change.old === undefined ? "the lines that go" : "%" + trace.names[change.old];
    byId("question-text").textContent = `What takes the place of ${old}? Choose with ${LETTERS.join(", ")}.`;
    this.choices = this.choicesFor(pass, step);
    const answer = this.answers.get(this.place), isAnswered = answer !== undefined, given = answer?.n;
    byId("choices").replaceChildren(...this.choices.map(({ text, isRight }, n) =>
      el("li", {}, el("button", { type: "button", disabled: isAnswered, onclick: () => this.answer(n),
        class: isAnswered ? (isRight ? "right" : n === given ? "wrong" : "") : "" }, el("kbd", {}, LETTERS[n]), " ", el("code", {}, text)))));
    show(byId("give-up"), !isAnswered);
    show(byId("onward"), isAnswered);
    byId("verdict").textContent = !isAnswered ? "" : answer === null ? "Shown: this one does not count as right."
      : answer.isRight ? this.praise() : "Not this one. The right line is marked.";
  }

  get right() {
    return [...this.answers.values()].filter((each) => each?.isRight).length;
  }

  praise() {
    let row = 0;
    for (const each of [...this.answers.values()].reverse()) {
      if (!each || !each.isRight) break;
      row += 1;
    }
    return row > 2 ? `Right: ${row} in a row.` : "Right.";
  }

  // Four lines in an order that the place decides, one of them right.
  choicesFor(pass, step) {
    const { trace } = this.app, { edits } = trace.passes[pass].steps[step - 1];
    const change = trace.passes[pass].steps[step - 1];
    const came = edits.flatMap(([, , rows]) => rows).filter((row) => trace.isInstruction(row));
    const isNamed = (row) => (change.new || []).includes(trace.rows.name[row]);
    const right = came.filter(isNamed).pop() ?? came[came.length - 1];
    const all = new Set(came.map((row) => spoken(trace, row)));
    const wrong = new Set();
    const propose = (text) => { if (text && !all.has(text)) wrong.add(text); };
    const line = right === undefined ? "" : spoken(trace, right);
    const old = change.old === undefined ? undefined : this.app.change.states[0].rows[this.app.change.states[0].place(change.old)];
    if (old !== undefined) propose(spoken(trace, old));
    // The right line with its operands in the other order, and with related opcodes.
    propose(line.replace(/\((%[^,()]+), (%[^,()]+)/, "($2, $1"));
    const [opcode, , family] = right === undefined ? ["", "", -1] : trace.opcodes[trace.rows.opcode[right]];
    for (const [name, , kin] of trace.opcodes) if (kin === family && name !== opcode && !NOT_ALIKE.has(name) && !NOT_ALIKE.has(opcode) && wrong.size < 3) propose(line.replace(` ${opcode}(`, ` ${name}(`));
    for (let n = 1; wrong.size < 6 && n < 40; n += 1) {
      const rows = trace.starts[pass], row = rows[(pass * 31 + step * 17 + n * 13) % rows.length];
      if (trace.isInstruction(row)) propose(spoken(trace, row));
    }
    if (right !== undefined && change.old !== undefined) propose(`nothing: %${trace.names[change.old]} only goes`);
    const choices = [{ text: line || "nothing: the lines only go", isRight: true }, ...[...wrong].slice(0, 3).map((text) => ({ text, isRight: false }))];
    const turn = (pass * 7 + step * 3) % choices.length;
    const made = [...choices.slice(turn), ...choices.slice(0, turn)];
    return (pass + step) % 2 ? made.reverse() : made;
  }

  answer(n) {
    if (!this.hides() || (n !== null && !this.choices[n])) return;
    const isRight = n !== null && this.choices[n].isRight;
    this.answers.set(this.place, n === null ? null : { n, isRight });
    this.app.say(n === null ? "Shown." : isRight ? "Right." : "Wrong.");
    this.app.render();
  }
}

// A line as the quiz shows it: without ROOT and layouts.
function spoken(trace, row) {
  return trace.shortOf(row).trim().replace(/^ROOT /, "");
}
