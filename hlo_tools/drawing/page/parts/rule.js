// Who made a change: the pass, the rule with its variables, its promise and its source.

class RuleView {
  constructor(app) {
    this.app = app;
    this.element = byId("rule");
  }

  render() {
    const { trace, pass, step } = this.app, run = trace.passes[pass];
    if (!run) return this.element.replaceChildren("There are no passes.");
    if (this.app.from !== null) return this.element.replaceChildren(...this.apart(this.app.from, pass));
    const title = el("h2", {}, el("span", { class: "dim" }, run.path.slice(0, -1).join(" › ") + " › "), run.name);
    const made = step ? this.step(run, run.steps[step - 1]) : this.whole(run);
    this.element.replaceChildren(title, ...made);
  }

  whole(run) {
    const told = run.steps.length ? `${plural(run.steps.length, "rewrite")}: the module before and after all of them.`
      : "It changed nothing.";
    return [el("p", {}, run.summary, " ", el("span", { class: "dim" }, told))];
  }

  // Two places far from each other.
  apart(from, pass) {
    const { trace } = this.app, made = trace.passes.slice(from, pass + 1), changing = made.filter((run) => run.steps.length);
    const done = changing.reduce((sum, run) => sum + run.steps.length, 0);
    return [el("h2", {}, `From before pass ${from + 1} to after pass ${pass + 1}`),
      el("p", {}, `${plural(done, "rewrite")} by ${[...new Set(changing.map((run) => run.name))].join(", ") || "no pass"}. `,
        el("button", { type: "button", onclick: () => this.app.go({ from: null }) }, "Back to single changes"))];
  }

  step(run, step) {
    const { trace } = this.app;
    if (step.rule === undefined) {
      return [el("p", { class: "dim" }, "The pass reports no single rewrites: this is its whole change.")];
    }
    const rule = trace.rules[step.rule];
    const made = [el("p", { class: "rule-text" }, ...this.ruleText(rule, step))];
    const facts = [badge(step.promise, PROMISES[step.promise] || "what may differ afterwards")];
    if (rule.status) facts.push(badge(rule.status, rule.findings.join("\n"), rule.status.startsWith("proved") ? "good" : ""));
    if (run.verified) facts.push(badge("verified", "the verifier found the module sound after this pass", "good"));
    if (run.verified === false) facts.push(badge("not verified", trace.fault, "bad"));
    if (rule.xla) facts.push(el("span", { class: "dim" }, `XLA: ${rule.xla}`));
    if (run.exact === false) facts.push(badge("as reported", "the lines are those that the rewrite reported: a pass of so many rewrites is not run again for each of them"));
    made.push(el("p", { class: "facts" }, ...facts));
    if (step.bindings && !this.app.quiz.hides()) made.push(this.variables(step));
    made.push(this.source(rule));
    return made;
  }

  // The rule as it is printed, with its variables in the colours of what they match.
  ruleText(rule, step) {
    const text = rule.text || rule.name, colours = new Map();
    Object.keys(step.bindings || {}).forEach((name, n) => colours.set(name, n % 6));
    const made = [el("span", { class: "dim" }, rule.kind === "rule" ? "" : `${rule.kind}: `)];
    for (const word of text.split(/(\b\w+\b)/)) {
      made.push(colours.has(word) ? el("span", { class: `variable v${colours.get(word)}` }, word) : word);
    }
    return made;
  }

  variables(step) {
    const { trace, words } = this.app, list = el("dl", { class: "variables" });
    Object.entries(step.bindings).forEach(([name, value], n) => {
      const numbers = Array.isArray(value) ? value : [value];
      const shown = numbers.flatMap((each) => typeof each === "number"
        ? [words.name("%" + trace.names[each], this.app.name, null, ""), " "] : [String(each)]);
      list.append(el("dt", { class: `variable v${n % 6}` }, name), el("dd", {}, ...shown));
    });
    list.addEventListener("click", (event) => this.app.followed(event));
    return list;
  }

  source(rule) {
    const code = el("pre", { class: "source" });
    rule.source.forEach((line, n) => {
      const number = rule.first + n, isMarked = rule.kind === "pass" && number === rule.line;
      code.append(el("span", { class: isMarked ? "line marked" : "line" }, `${String(number).padStart(4)}  ${line}\n`));
    });
    const details = el("details", { open: this.isOpen, ontoggle: (event) => { this.isOpen = event.target.open; } },
      el("summary", {}, `source: ${rule.file}:${rule.line}`), code);
    return details;
  }
}

const PROMISES = {
  BITS: "every bit of every value is kept",
  ZERO_SIGN: "the sign of a zero may flip",
  FINITE: "equal where nothing is NaN or infinite",
  ROUNDING: "the last digits may differ",
};

function badge(text, title, kind = "") {
  return el("span", { class: `badge ${kind}`, title }, text);
}
