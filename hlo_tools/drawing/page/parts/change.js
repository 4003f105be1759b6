// Before and after a change, side by side: the tab of the module.

class ChangeView {
  constructor(app) {
    this.app = app;
    this.opened = new Set();
    this.key = "";
    this.lists = ["before", "after"].map((side, n) => {
      const label = `The module ${side} the change`;
      const list = new VirtualList(byId(side), label, (i) => this.line(i, n));
      list.element.addEventListener("click", (event) => this.clicked(event, n));
      list.element.addEventListener("keydown", (event) => this.pressed(event, n));
      return list;
    });
    tied(this.lists);
  }

  render() {
    const { app } = this, { trace, pass, step, from } = app;
    const key = `${pass}/${step}/${from}`, isNew = key !== this.key;
    if (isNew) {
      if (!key.startsWith(this.key.split("/")[0] + "/")) this.opened.clear();
      this.key = key;
      const isOne = step && from === null;
      const before = from !== null ? trace.starts[from] : step ? trace.rowsAt(pass, step - 1) : trace.starts[pass];
      const after = step ? trace.rowsAt(pass, step) : trace.starts[pass + 1];
      [this.states, this.gutters] = this.indexed(before, after);
      const edits = isOne ? ascending(trace.passes[pass].steps[step - 1].edits) : differences(before, after);
      const keyOf = (row) => trace.rows.name[row] * 2 + (trace.isInstruction(row) ? 1 : 0);
      this.lines = aligned(before, after, edits, keyOf);
      this.bound = from === null ? boundNames(trace, pass, step) : new Map();
    }
    this.shown = folded(this.lines, this.opened, this.framesOfChanges());
    const width = Math.max(this.width(0), this.width(1));
    const letters = app.options.isOn("wrap") ? (n) => Math.max(this.letters(n, 0), this.letters(n, 1)) : null;
    const first = isNew ? this.shown.findIndex(({ line, fold }) => fold === undefined && line[2] === CHANGED) : -1;
    this.lists.forEach((list) => list.fill(this.shown.length, width, letters, first));
    this.lists.forEach((list) => list.draw(true));
    app.quiz.cover(pass, step);
  }

  // The letters of a line on one side, with the room that its variables' signs take.
  letters(n, side) {
    const { line, fold } = this.shown[n];
    if (fold !== undefined || line[side] < 0) return 0;
    const row = this.states[side].rows[line[side]], { name, operands } = this.app.trace.rows;
    const signs = this.bound.size ? [name[row], ...operands[row]].filter((each) => this.bound.has(each)).length : 0;
    return this.app.words.lettersOf(row, this.isInFolds(line)) + 2 * signs;
  }

  // Whether a line changes only in what is folded away, so that it must be shown whole.
  isInFolds(line) {
    if (line[2] !== CHANGED || line[0] < 0 || line[1] < 0) return false;
    const [old, now] = line.slice(0, 2).map((place, side) => this.states[side].rows[place]);
    return old !== now && this.app.trace.shortOf(old) === this.app.trace.shortOf(now);
  }

  // The states and gutters of both sides; what the last change had already is taken from there.
  indexed(before, after) {
    const known = new Map((this.states || []).map((state, side) => [state.rows, [state, this.gutters[side]]]));
    const both = [before, after].map((rows) => {
      if (!known.has(rows)) {
        const state = new State(this.app.trace, rows);
        known.set(rows, [state, new Gutter(state)]);
      }
      return known.get(rows);
    });
    return [both.map(([state]) => state), both.map(([, gutter]) => gutter)];
  }

  // Tells the first and last lines of computations in which something changes: these stay in view.
  framesOfChanges() {
    const { trace } = this.app, [before, after] = this.states;
    const headOf = ([i, j]) => (i >= 0 ? before.rows[before.heads[i]] : after.rows[after.heads[j]]);
    const changed = new Set(this.lines.filter((line) => line[2] === CHANGED).map(headOf));
    const kind = ([i, j]) => trace.rows.kind[i >= 0 ? before.rows[i] : after.rows[j]];
    return (line) => kind(line) >= HEAD && changed.has(headOf(line));
  }

  // The longest line's width in characters, of lines that are not folded away.
  width(side) {
    let longest = 40;
    for (let n = 0; n < this.shown.length && longest < 600; n += 1) longest = Math.max(longest, this.letters(n, side));
    return Math.min(longest, 600);
  }

  line(n, side) {
    const { fold, count, line } = this.shown[n], place = line[side];
    const state = this.states[side], gutter = this.gutters[side], height = this.lists[side].heightOf(n);
    if (fold !== undefined) {
      return el("div", { class: "row fold", role: "option", "data-fold": fold, id: `${side}-${n}` },
        gutter.draw(place, height, { isFold: true }),
        el("span", {}, `${plural(count, "unchanged line")}: show`));
    }
    if (place < 0) return el("div", { class: "row none", role: "option", id: `${side}-${n}`, "aria-label": "nothing" });
    const { app } = this, row = state.rows[place], name = app.trace.rows.name[row];
    const isInstruction = app.trace.isInstruction(row), isChosen = isInstruction && name === app.name;
    const classes = ["row"];
    if (line[2] === CHANGED) classes.push(side ? "came" : "gone");
    if (isChosen) classes.push("chosen");
    else if (isInstruction && app.name !== null) classes.push(this.relation(state, place, name));
    return el("div", { class: classes.join(" "), role: "option", id: `${side}-${n}`, "data-place": place,
      "aria-selected": isChosen ? "true" : "false" },
      gutter.draw(place, height, { isLit: isChosen }),
      el("span", { class: "mark", "aria-label": line[2] === CHANGED ? (side ? "came" : "went") : null },
        line[2] === CHANGED ? (side ? "+" : "−") : " "),
      el("code", {}, ...app.words.ofRow(row, app.name, this.bound, this.isInFolds(line))));
  }

  // Whether a row is an operand or a user of the chosen instruction.
  relation(state, place, name) {
    const chosen = state.place(this.app.name);
    if (chosen < 0 || state.heads[chosen] !== state.heads[place]) return "";
    if (state.operands(chosen).includes(name)) return "operand";
    return state.operands(place).includes(this.app.name) ? "user" : "";
  }

  clicked(event, side) {
    const word = event.target.closest("[data-name]"), row = event.target.closest(".row");
    if (!row) return;
    if (row.dataset.fold !== undefined) return this.open(Number(row.dataset.fold));
    if (word && getSelection().toString() === "") return this.app.go({ name: Number(word.dataset.name) });
    if (row.dataset.place !== undefined) this.choose(Number(row.dataset.place), side);
  }

  choose(place, side) {
    const row = this.states[side].rows[place];
    if (this.app.trace.isInstruction(row)) this.app.go({ name: this.app.trace.rows.name[row] });
  }

  open(fold) {
    this.opened.add(fold);
    this.render();
  }

  openAll() {
    let from = 0;
    this.lines.forEach((line, n) => {
      if (line[2] === CHANGED) from = n + 1;
      else if (n === from) this.opened.add(n);
    });
    this.render();
  }

  // Arrows move from line to line; Enter opens a fold.
  pressed(event, side) {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
    const at = this.placeInList(side);
    if (event.key === "Enter" || event.key === " ") {
      const line = this.shown[this.cursor ?? at];
      if (line && line.fold !== undefined) this.open(line.fold);
    } else if (by) {
      let n = Math.min(Math.max((this.cursor ?? at) + by, 0), this.shown.length - 1);
      while (this.shown[n] && this.shown[n].line[side] < 0 && this.shown[n + Math.sign(by)]) n += Math.sign(by);
      this.cursor = n;
      const { line, fold } = this.shown[n];
      if (fold === undefined && line[side] >= 0) this.choose(line[side], side);
      this.lists[side].reveal(n);
      this.lists[side].element.setAttribute("aria-activedescendant", `${side}-${n}`);
    } else return;
    event.preventDefault();
  }

  placeInList(side) {
    const place = this.app.name === null ? -1 : this.states[side].place(this.app.name);
    return Math.max(0, this.shown.findIndex(({ line, fold }) => fold === undefined && line[side] === place));
  }

  // Bring the chosen instruction into view, out of a fold if need be.
  revealChosen() {
    const { name } = this.app;
    if (name === null) return;
    const side = this.states[1].place(name) >= 0 ? 1 : 0, place = this.states[side].place(name);
    if (place < 0) return;
    const find = () => this.shown.findIndex(({ line, fold, count }) =>
      fold === undefined ? line[side] === place : line[side] <= place && place < line[side] + count);
    let n = find();
    if (n >= 0 && this.shown[n].fold !== undefined) {
      this.open(this.shown[n].fold);
      n = find();
    }
    if (n < 0) return;
    this.cursor = n;
    this.lists[side].reveal(n);
  }
}

// Edits of a step, which come last place first, as differences from the first place on.
function ascending(edits) {
  let shift = 0;
  return [...edits].reverse().map(([place, count, came]) => {
    const found = [place, place + count, place + shift, place + shift + came.length];
    shift += came.length - count;
    return found;
  });
}

// The names that a rule's variables match, each with its variable and a colour.
function boundNames(trace, pass, step) {
  const bound = new Map();
  const bindings = step ? trace.passes[pass].steps[step - 1].bindings || {} : {};
  Object.entries(bindings).forEach(([name, value], n) => {
    const variable = { name, colour: n % 6 };
    for (const number of Array.isArray(value) ? value : [value]) {
      if (typeof number === "number" && !bound.has(number)) bound.set(number, variable);
    }
  });
  return bound;
}
