// Lists of plain lines: loops before and after a pass, and code beside the module.

// The loops of a kernel before and after a pass over it.
class LoopsView {
  constructor(app) {
    this.app = app;
    // The first kernel that a pass changes.
    this.kernel = Math.max(0, app.trace.kernels.findIndex((each) => each.states.length > 1));
    this.state = 1;
    this.lists = ["loops-before", "loops-after"].map((id, side) =>
      new VirtualList(byId(id), side ? "Loops after the pass" : "Loops before the pass", (n) => this.line(n, side)));
    tied(this.lists);
    for (const { element } of this.lists) element.addEventListener("click", (event) => this.clicked(event));
  }

  // How many lines of the kernels, as they are at last, speak of an instruction.
  linesOf(name) {
    return this.app.trace.kernels.reduce((sum, { states }) =>
      sum + states[states.length - 1].names.filter((each) => each.includes(name)).length, 0);
  }

  // Show the kernel that speaks of the chosen instruction, where this one does not.
  follow() {
    const { kernels } = this.app.trace, { name } = this.app;
    if (name === this.followed) return;
    this.followed = name;
    const speaks = ({ states }) => states.some((state) => state.names.some((each) => each.includes(name)));
    if (name === null || !kernels.length || speaks(kernels[this.kernel])) return;
    const found = kernels.findIndex(speaks);
    if (found >= 0) [this.kernel, this.state] = [found, 1];
  }

  render() {
    const { kernels, texts } = this.app.trace;
    if (!kernels.length) {
      byId("loops-passes").replaceChildren(el("p", { class: "dim" }, "There are no kernels: the module has none, or cannot be emitted."));
      return;
    }
    this.follow();
    const kernel = kernels[this.kernel], { states } = kernel;
    this.state = Math.min(Math.max(this.state, states.length > 1 ? 1 : 0), states.length - 1);
    const choice = el("select", { "aria-label": "kernel", onchange: (event) => { this.kernel = event.target.selectedIndex; this.state = 1; this.render(); } },
      ...kernels.map((each, n) => el("option", { selected: n === this.kernel },
        `${each.name}, changed ${plural(each.states.length - 1, "time")}`)));
    const buttons = states.slice(1).map((state, n) => el("button", { type: "button",
      "aria-pressed": n + 1 === this.state ? "true" : "false", title: state.why,
      onclick: () => { this.state = n + 1; this.render(); } }, state.pass));
    const steps = states[this.state].steps || [];
    this.primitive = Math.min(this.primitive ?? -1, steps.length - 1);
    if (`${this.kernel}/${this.state}` !== this.at) this.primitive = -1;
    byId("loops-passes").replaceChildren(el("label", {}, "kernel ", choice), " ", ...buttons,
      el("p", {}, states[this.state].why || "No pass over kernels changes these loops."), ...this.schedule(steps));
    this.shownStates = this.primitive < 0 ? [states[Math.max(this.state - 1, 0)], states[this.state]]
      : [steps[this.primitive].before, steps[this.primitive].after].map((lines) => ({ lines, names: lines.map(() => []) }));
    const sides = this.shownStates.map((state) => state.lines);
    const [before, after] = sides.map(numbered);
    const edits = differences(before, after);
    this.shown = aligned(before, after, edits, () => -1);
    const width = Math.max(...sides.flat().map((line) => texts[line].length), 40);
    const length = (n, side) => (this.shown[n][side] < 0 ? 0 : texts[sides[side][this.shown[n][side]]].length);
    const letters = this.app.options.isOn("wrap") ? (n) => Math.max(length(n, 0), length(n, 1)) : null;
    const at = this.news(`${this.kernel}/${this.state}`, this.app.name);
    this.lists.forEach((list) => list.fill(this.shown.length, Math.min(width, 300), letters, at.isNew ? at.line : -1));
    this.lists.forEach((list) => list.draw(true));
    if (!at.isNew && at.line >= 0) this.lists.forEach((list) => list.reveal(at.line));
  }

  // The primitives that the pass applied, in order: the schedule. A click shows the loop before and after one.
  schedule(steps) {
    if (!steps.length) return [];
    return [el("ol", { class: "schedule", "aria-label": "steps of the schedule" }, ...steps.map((step, n) =>
      el("li", {}, el("button", { type: "button", title: step.reason, "aria-pressed": n === this.primitive ? "true" : "false",
        onclick: () => { this.primitive = n === this.primitive ? -1 : n; this.render(); } }, step.primitive)))),
    this.primitive >= 0 ? el("p", {}, `Legal, since ${steps[this.primitive].reason}`) : ""];
  }

  // The line of an instruction that is newly chosen, else, of other loops, the first change; -1 if there is no news.
  news(at, name) {
    const [isNew, isChosen] = [at !== this.at, name !== null && name !== this.shownName];
    [this.at, this.shownName] = [at, name];
    const places = (side) => this.shown.findIndex((line) => line[side] >= 0 && this.shownStates[side].names[line[side]].includes(name));
    const chosen = isChosen ? [places(1), places(0)].find((place) => place >= 0) : undefined;
    const first = isNew ? Math.max(this.shown.findIndex((line) => line[2] === CHANGED), 0) : -1;
    return { isNew, line: chosen ?? first };
  }

  line(n, side) {
    const line = this.shown[n], place = line[side];
    if (place < 0) return el("div", { class: "row none", role: "option", "aria-label": "nothing" });
    const isChanged = line[2] === CHANGED, { lines, names } = this.shownStates[side];
    const isChosen = this.app.name !== null && names[place].includes(this.app.name);
    const marks = [isChanged ? (side ? "came" : "gone") : "", isChosen ? "chosen" : "", names[place].length ? "linked" : ""];
    return el("div", { class: `row ${marks.join(" ")}`, role: "option", "data-side": side, "data-place": place,
      "aria-selected": isChosen ? "true" : "false" },
      el("span", { class: "mark" }, isChanged ? (side ? "+" : "−") : " "), el("code", {}, ...codeWords(this.app.trace.texts[lines[place]])));
  }

  clicked(event) {
    const row = event.target.closest(".row.linked");
    if (row) chooseNext(this.app, this.shownStates[row.dataset.side].names[row.dataset.place]);
  }

  step(by) {
    const { kernels } = this.app.trace;
    if (!kernels.length) return;
    this.state += by;
    if (this.state >= kernels[this.kernel].states.length && this.kernel + 1 < kernels.length) [this.kernel, this.state] = [this.kernel + 1, 1];
    else if (this.state < 1 && this.kernel > 0) [this.kernel, this.state] = [this.kernel - 1, kernels[this.kernel - 1].states.length - 1];
    this.render();
  }
}

// Lines as keys that occur once: equal ones are told apart by how many came before.
function numbered(lines) {
  const seen = new Map();
  return lines.map((line) => {
    const count = (seen.get(line) || 0) + 1;
    seen.set(line, count);
    return `${line}#${count}`;
  });
}

// Choose the first instruction that a line is about; of the chosen one's line, the next.
function chooseNext(app, names) {
  app.go({ name: names[(names.indexOf(app.name) + 1) % names.length] });
}

// Generated code beside the module from which it is made, linked line by line in both directions.
class CodeView {
  constructor(app) {
    this.app = app;
    this.opened = new Set();
    this.lists = [
      new VirtualList(byId("code-module"), "The module", (n) => this.moduleLine(n)),
      new VirtualList(byId("code-lines"), "The generated code", (n) => this.codeLine(n)),
    ];
    this.lists[0].element.addEventListener("click", (event) => app.followed(event));
    this.lists[1].element.addEventListener("click", (event) => this.clicked(event));
  }

  languages() {
    return this.app.trace.code.map((each) => each.language);
  }

  // How many lines of each language speak of an instruction.
  linesOf(name) {
    return this.app.trace.code.map(({ language, sections }) => ({
      language,
      count: sections.reduce((sum, { names }) => sum + names.filter((each) => each.includes(name)).length, 0),
    })).filter(({ count }) => count);
  }

  render(language) {
    const { trace, name } = this.app, code = trace.code.find((each) => each.language === language);
    if (!code) return;
    [this.state] = this.app.states();
    const { rows } = this.state;
    this.gutter = this.gutter || new Gutter(this.state);
    this.lines = [];
    code.sections.forEach((section, number) => {
      const isOpen = this.opened.has(`${language}/${number}`) || section.title !== "prelude";
      this.lines.push({ section: number, title: section.title, isOpen, count: section.lines.length });
      section.lines.forEach((line, n) => { if (isOpen) this.lines.push({ text: line, names: section.names[n] }); });
    });
    const { words, options } = this.app, isWrapped = options.isOn("wrap");
    const length = (line) => (line.text === undefined ? 0 : trace.texts[line.text].length);
    const longest = this.lines.reduce((most, line) => Math.max(most, length(line)), 40);
    this.lists[0].fill(rows.length, Math.min(300, rows.reduce((most, row) => Math.max(most, words.lettersOf(row)), 40)), isWrapped ? (n) => words.lettersOf(rows[n]) : null);
    this.lists[1].fill(this.lines.length, Math.min(longest, 300), isWrapped ? (n) => length(this.lines[n]) : null);
    this.lists.forEach((list) => list.draw(true));
    const place = name === null ? -1 : this.state.place(name);
    if (place >= 0) this.lists[0].reveal(place);
    const speaks = (each) => each.names && each.names.includes(name);
    const isCode = (each) => speaks(each) && !trace.texts[each.text].trim().startsWith("//");
    const line = name === null ? -1 : this.lines.findIndex(this.lines.some(isCode) ? isCode : speaks);
    if (line >= 0 && !this.isFromCode) this.lists[1].reveal(line);
    this.isFromCode = false;
  }

  moduleLine(n) {
    const { app } = this, row = this.state.rows[n], name = app.trace.rows.name[row];
    const isChosen = app.trace.isInstruction(row) && name === app.name;
    return el("div", { class: `row ${isChosen ? "chosen" : ""}`, role: "option", "aria-selected": isChosen ? "true" : "false",
      "data-name": app.trace.isInstruction(row) ? name : null },
      this.gutter.draw(n, this.lists[0].heightOf(n), { isLit: isChosen }), el("code", {}, ...app.words.ofRow(row, app.name, null)));
  }

  codeLine(n) {
    const line = this.lines[n];
    if (line.title !== undefined) {
      return el("div", { class: "row fold", role: "option", "data-section": line.section },
        `${line.title}${line.isOpen ? "" : `: ${plural(line.count, "line")}, show`}`);
    }
    const isChosen = this.app.name !== null && line.names.includes(this.app.name);
    return el("div", { class: `row ${isChosen ? "chosen" : ""} ${line.names.length ? "linked" : ""}`, role: "option", "data-line": n,
      "aria-selected": isChosen ? "true" : "false" }, el("code", {}, ...codeWords(this.app.trace.texts[line.text])));
  }

  clicked(event) {
    const row = event.target.closest(".row");
    if (!row) return;
    if (row.dataset.section !== undefined) {
      this.opened.add(`${this.app.tab}/${row.dataset.section}`);
      return this.app.render();
    }
    const { names } = this.lines[Number(row.dataset.line)];
    if (!names.length) return;
    this.isFromCode = true;
    chooseNext(this.app, names);
  }
}
