// Search in lines, passes and rules.

const MOST_FOUND = 200;

class Search {
  constructor(app) {
    this.app = app;
    this.input = byId("search");
    this.list = byId("found");
    this.input.addEventListener("input", () => this.run());
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
      if (event.key === "Enter") this.list.querySelector("a, button")?.click();
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
    const word = this.input.value.trim().toLowerCase();
    show(this.list, word.length > 0);
    if (!word) return;
    const found = [...this.passes(word), ...this.rewrites(word), ...this.lines(word)];
    this.list.replaceChildren(...found.slice(0, MOST_FOUND).map(([kind, text, to]) =>
      el("li", {}, el("button", { type: "button", onclick: () => { this.close(); this.app.go(to); } },
        el("span", { class: "kind" }, kind), text))));
    if (!found.length) this.list.replaceChildren(el("li", { class: "dim" }, "nothing found"));
    this.app.say(`${plural(Math.min(found.length, MOST_FOUND), "result")}`);
  }

  * passes(word) {
    for (const run of this.app.trace.passes) {
      if (run.name.toLowerCase().includes(word)) {
        yield ["pass", `${run.number + 1} ${run.name}, ${plural(run.steps.length, "rewrite")}`, { pass: run.number, step: 0, tab: "hlo" }];
      }
    }
  }

  * rewrites(word) {
    const { trace } = this.app, fits = trace.rules.map((rule) => (rule.text || rule.name).toLowerCase().includes(word));
    let count = 0;
    for (const number of trace.changing) {
      const { steps, name } = trace.passes[number];
      for (let n = 0; n < steps.length && count < MOST_FOUND / 2; n += 1) {
        if (steps[n].rule === undefined || !fits[steps[n].rule]) continue;
        count += 1;
        yield ["rewrite", `${trace.rules[steps[n].rule].name} in ${name}`, { pass: number, step: n + 1, tab: "hlo" }];
      }
    }
  }

  * lines(word) {
    const { trace } = this.app;
    for (const row of this.app.change.states[1].rows) {
      if (!trace.isInstruction(row)) continue;
      const text = trace.textOf(row);
      if (text.toLowerCase().includes(word)) yield ["line", text.trim(), { name: trace.rows.name[row] }];
    }
  }
}
