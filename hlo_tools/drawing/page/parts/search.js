// Search in lines, rewrites and passes, in this order.

const MOST_FOUND = { line: 120, rewrite: 60, pass: 40 };

class Search {
  constructor(app) {
    this.app = app;
    this.input = byId("search");
    this.list = byId("found");
    this.input.addEventListener("input", () => this.run());
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
      if (event.key === "Enter") this.list.querySelector("button")?.click();
      if (event.key === "ArrowDown") this.list.querySelector("button")?.focus();
    });
    this.list.addEventListener("keydown", (event) => {
      const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
      if (step) {
        event.preventDefault();
        event.target.closest("li")[step]?.querySelector("button")?.focus();
      }
      if (event.key === "Escape") this.close();
    });
  }

  close() {
    this.input.value = "";
    show(this.list, false);
    this.input.blur();
    byId("after").focus();
  }

  run() {
    const word = this.input.value.trim().toLowerCase().replace(/^%/, "");
    show(this.list, word.length > 0);
    if (!word) return;
    const made = [];
    let all = 0;
    for (const [kind, found] of [["line", this.lines(word)], ["rewrite", this.rewrites(word)], ["pass", this.passes(word)]]) {
      const most = MOST_FOUND[kind];
      all += found.length;
      for (const [text, to] of found.slice(0, most)) {
        made.push(el("li", {}, el("button", { type: "button", onclick: () => { this.close(); this.app.go(to); } },
          el("span", { class: "kind" }, kind), ...marked(text, word))));
      }
      if (found.length > most) made.push(el("li", { class: "dim" }, `and ${(found.length - most).toLocaleString("en")} more ${kind}s`));
    }
    this.list.replaceChildren(...made);
    if (!made.length) this.list.replaceChildren(el("li", { class: "dim" }, "nothing found"));
    this.app.say(plural(all, "result"));
  }

  // Lines of the module that is shown: first those whose name or opcode begins so.
  lines(word) {
    const { trace } = this.app, found = [[], [], []];
    for (const row of this.app.states()[1].rows) {
      if (!trace.isInstruction(row)) continue;
      const text = trace.textOf(row).trim();
      if (!text.toLowerCase().includes(word)) continue;
      const [opcode] = trace.opcodes[trace.rows.opcode[row]];
      const rank = trace.nameOf(row).toLowerCase().startsWith(word) || opcode === word ? 0 : opcode.startsWith(word) ? 1 : 2;
      found[rank].push([trace.shortOf(row).trim(), { name: trace.rows.name[row] }]);
    }
    return found.flat();
  }

  rewrites(word) {
    const { trace } = this.app, fits = trace.rules.map((rule) => (rule.text || rule.name).toLowerCase().includes(word));
    const found = [];
    for (const number of trace.changing) {
      const { steps, name } = trace.passes[number];
      steps.forEach((step, n) => {
        const old = step.old === undefined ? "" : trace.names[step.old];
        if (step.rule === undefined || !(fits[step.rule] || old.toLowerCase().includes(word))) return;
        const place = `${number + 1} ${name}, rewrite ${n + 1}`;
        found.push([`${trace.rules[step.rule].name} of %${old} in ${place}`, { pass: number, step: n + 1, tab: "hlo" }]);
      });
    }
    return found;
  }

  // Passes that change something come first.
  passes(word) {
    const fitting = this.app.trace.passes.filter((run) => run.name.toLowerCase().includes(word));
    return [...fitting.filter((run) => run.steps.length), ...fitting.filter((run) => !run.steps.length)].map((run) =>
      [`${run.number + 1} ${run.name}, ${plural(run.steps.length, "rewrite")}`, { pass: run.number, step: 0, tab: "hlo" }]);
  }
}

// A text with the places marked where a word is.
function marked(text, word) {
  const at = text.toLowerCase().indexOf(word);
  return at < 0 ? [text] : [text.slice(0, at), el("mark", {}, text.slice(at, at + word.length)), text.slice(at + word.length)];
}
