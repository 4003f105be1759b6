// The list of passes, the slider of rewrites, and playing them one after the other.

const PACES = [["slow", 2400], ["normal", 1200], ["fast", 500]];

class PassList {
  constructor(app) {
    this.app = app;
    const { trace } = app;
    this.items = trace.passes.map((run) => {
      const mark = run.verified === true ? ["✓", "verified"] : run.verified === false ? ["✗", "the verifier found a fault"] : ["", ""];
      const path = run.path.slice(1, -1).join(" › ");
      return el("li", { class: run.steps.length ? "changed" : "idle" }, el("button", { type: "button", title: `${run.summary}\n${run.place.join(":")}`,
        onclick: (event) => (event.shiftKey ? this.compareWith(run.number) : app.go({ pass: run.number, step: 0, tab: app.isOfModule() ? app.tab : "hlo" })) },
        el("span", { class: "number" }, String(run.number + 1)),
        el("span", { class: "title" }, ...breakable(run.name), path ? el("small", {}, path) : ""),
        el("span", { class: "count", "aria-label": plural(run.steps.length, "rewrite") }, run.steps.length ? GROUPED.format(run.steps.length) : ""),
        el("span", { class: "verdict", title: mark[1], "aria-label": mark[1] }, mark[0])));
    });
    byId("passes").replaceChildren(...this.items);
    const box = byId("show-idle");
    box.addEventListener("change", () => document.body.classList.toggle("with-idle", box.checked));
    const idle = trace.passes.filter((run) => !run.steps.length).length;
    byId("idle-count").textContent = `show ${plural(idle, "pass").replace(/passs$/, "passes")} without changes`;
    this.makeComparison();
    byId("slider").addEventListener("input", (event) => app.go({ step: Number(event.target.value) }));
    byId("play").addEventListener("click", () => this.play());
    byId("pace").replaceChildren(...PACES.map(([name, pause], n) => el("option", { value: pause, selected: n === 1 }, name)));
  }

  // What the left side shows: the module before this change, or before any pass.
  makeComparison() {
    const { trace } = this.app;
    byId("compare").replaceChildren(el("option", { value: "" }, "before this change"),
      ...trace.changing.map((number) => el("option", { value: number }, `before pass ${number + 1}, ${trace.passes[number].name}`)));
    byId("compare").addEventListener("change", (event) => this.compareWith(event.target.value === "" ? null : Number(event.target.value)));
  }

  compareWith(from) {
    const { trace, pass, step } = this.app;
    if (from === null || from <= pass) return this.app.go({ from, tab: "hlo" });
    // A later pass was chosen: what is shown now is the left side.
    this.app.go({ from: step > 1 ? pass + 1 : pass, pass: from, step: trace.passes[from].steps.length, tab: "hlo" });
  }

  render() {
    const { app } = this, { trace, pass, step, from } = app, run = trace.passes[pass];
    if (`${pass}/${from}` !== this.at) this.mark(pass, from);
    const slider = byId("slider"), steps = run ? run.steps.length : 0;
    slider.max = steps;
    slider.value = step;
    const count = (n) => GROUPED.format(n);
    const told = step ? `rewrite ${count(step)} of ${count(steps)}` : `all ${plural(steps, "rewrite")}`;
    slider.setAttribute("aria-valuetext", told);
    byId("where").textContent = told;
    byId("overall").textContent = run ? `${count(run.doneBefore + step)} of ${count(trace.total)} in all` : "";
    byId("compare").value = from === null ? "" : String(from);
    byId("before-title").textContent = from === null ? "Before" : `Before pass ${from + 1}, ${trace.passes[from].name}`;
    byId("after-title").textContent = from === null ? "After" : `After pass ${pass + 1}, ${run.name}`;
  }

  // Mark the pass that is shown, and the one that the left side is before.
  mark(pass, from) {
    this.at = `${pass}/${from}`;
    this.items.forEach((item, number) => {
      const isHere = number === pass;
      item.classList.toggle("here", isHere);
      item.classList.toggle("from", number === from);
      item.firstChild.setAttribute("aria-current", isHere ? "step" : "false");
      if (isHere) item.scrollIntoView({ block: "nearest" });
    });
  }

  // One rewrite after the other, until the last, or until somebody does anything.
  play() {
    if (this.timer) return this.stop();
    byId("play").setAttribute("aria-pressed", "true");
    const { app } = this;
    const next = () => {
      const before = `${app.pass}/${app.step}`;
      app.nextStep(1);
      if (`${app.pass}/${app.step}` === before) return this.stop();
      this.timer = setTimeout(next, Number(byId("pace").value));
      return undefined;
    };
    this.timer = setTimeout(next, 1);
    return undefined;
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = 0;
    byId("play").setAttribute("aria-pressed", "false");
  }
}
