// All that is known of the chosen instruction.

class Panel {
  constructor(app) {
    this.app = app;
    this.element = byId("details");
    this.hops = 1;
    this.element.addEventListener("click", (event) => app.followed(event));
  }

  render() {
    const { app } = this, { trace, name } = app;
    if (name === null) {
      this.element.replaceChildren();
      return;
    }
    const [before, after] = app.states();
    const state = after.place(name) >= 0 && !app.quiz.hides() ? after : before, place = state.place(name);
    const title = el("h2", {}, "%" + trace.names[name]);
    const close = el("button", { type: "button", class: "close", "aria-label": "Close", title: "close (Esc)", onclick: () => app.go({ name: null }) }, "×");
    if (place < 0) {
      this.element.replaceChildren(close, title, el("p", { class: "dim" }, "It is not in the module here."), this.history(name));
      return;
    }
    const row = state.rows[place], [opcode, summary, family] = trace.opcodes[trace.rows.opcode[row]];
    const [shape, size] = trace.shapes[trace.rows.shape[row]];
    const facts = el("dl", { class: "facts" });
    const fact = (word, ...told) => facts.append(el("dt", {}, word), el("dd", {}, ...told));
    fact("opcode", el("span", { class: `chip family-${family}` }, opcode), ` ${summary}`);
    fact("shape", el("code", {}, shape), ` ${bytes(size)}`);
    fact("in", el("code", {}, "%" + trace.nameOf(state.rows[state.heads[place]])));
    fact("operands", ...this.links(trace.rows.operands[row]));
    fact("used by", ...this.links(state.usersOf(name)), trace.rows.kind[row] === ROOT ? " (root)" : "");
    if (trace.rows.called[row].length) fact("calls", ...this.links(trace.rows.called[row]));
    const [operation, where, line] = trace.sourceOf(row);
    if (operation || where) fact("from", operation ? el("code", {}, operation) : "", where ? ` ${where}` : "", line ? el("pre", { class: "user" }, line) : "");
    this.element.replaceChildren(close, title,
      el("pre", { class: "whole" }, ...app.words.ofRow(row, name, null, true)),
      facts, ...shardPicture(trace.shardsOf.get(row)), ...this.values(name, before, after), this.history(name, row), ...this.uses(name), this.graph(state, name));
  }

  links(numbers) {
    const { trace, words } = this.app;
    if (!numbers.length) return [el("span", { class: "dim" }, "none")];
    const most = 24, shown = numbers.slice(0, most).flatMap((n) => [words.name("%" + trace.names[n], null, null, ""), " "]);
    return numbers.length > most ? [...shown, `and ${numbers.length - most} more`] : shown;
  }

  values(name, before, after) {
    const { trace } = this.app, { pass, step } = this.app.place();
    if (!trace.values.length) return [];
    const last = step === 0 || step === trace.passes[pass].steps.length;
    const at = (state, number) => {
      const place = state.place(name);
      return place < 0 ? "" : trace.valueOf(state.rows[place], number);
    };
    const old = at(before, pass), now = at(after, last ? pass + 1 : pass) || at(after, pass + 1);
    if (!old && !now) return [];
    const same = old === now || !old || !now;
    const lines = same ? [el("pre", { class: "value" }, now || old)]
      : [el("pre", { class: "value gone" }, old), el("pre", { class: "value came" }, now)];
    return [el("h3", {}, same ? "Value" : "Value before and after"), ...lines];
  }

  // From the last change of the line back to the user's own program.
  history(name, row) {
    const { trace } = this.app, { pass, step } = this.app.place(), list = el("ol", { class: "history" });
    const now = trace.passes[pass].doneBefore + (step || trace.passes[pass].steps.length);
    const seen = new Set();
    let wanted = name;
    while (wanted !== undefined && !seen.has(wanted)) {
      seen.add(wanted);
      const steps = trace.stepsOf(wanted).filter(([p, s]) => trace.passes[p].doneBefore + s <= now).reverse();
      let next;
      for (const [p, s] of steps.slice(0, 12)) {
        const made = trace.passes[p].steps[s - 1], rule = made.rule === undefined ? "the whole pass" : trace.rules[made.rule].name;
        list.append(el("li", {},
          el("a", { href: this.app.link({ pass: p, step: s }) }, `${trace.passes[p].name} ${s}`),
          ` ${rule}`, wanted === name ? "" : el("span", { class: "dim" }, ` (%${trace.names[wanted]})`)));
        if (made.new && made.new.includes(wanted) && made.old !== wanted) next = made.old;
      }
      wanted = next;
    }
    const source = row === undefined ? null : trace.sources[trace.rows.source[row]];
    if (source && source[0]) {
      list.append(el("li", { class: "origin" }, "the user's ", el("code", {}, source[0]), source[1] ? ` at ${source[1]}` : ""));
    }
    if (!list.children.length) list.append(el("li", { class: "dim" }, "as it was read"));
    return el("section", {}, el("h3", {}, "History"), list);
  }

  // Where the generated code speaks of it.
  uses(name) {
    const found = this.app.code.linesOf(name), loops = this.app.loops.linesOf(name);
    if (loops) found.unshift({ tab: "loops", language: "loops", count: loops });
    if (!found.length) return [];
    return [el("h3", {}, "In the code"), el("p", {}, ...found.map(({ tab, language, count }) =>
      el("button", { type: "button", onclick: () => this.app.go({ tab: tab || language }) }, `${plural(count, "line")} of ${language}`)))];
  }

  graph(state, name) {
    const hops = el("span", { class: "hops", role: "group", "aria-label": "how far the graph reaches" },
      ...[1, 2, 3, 4].map((n) => el("button", { type: "button", "aria-pressed": n === this.hops ? "true" : "false",
        onclick: () => { this.hops = n; this.render(); } }, String(n))));
    return el("section", { class: "graph" }, el("h3", {}, "Neighbourhood ", hops), neighbourhood(this.app, state, name, this.hops));
  }
}
