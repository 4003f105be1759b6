// What is shown: a place in the trace, an instruction, a tab; and the keys that change it.

class App {
  constructor(trace) {
    this.trace = trace;
    this.words = new Words(trace);
    const first = trace.changing.length ? trace.changing[0] : 0;
    Object.assign(this, { pass: first, step: trace.changing.length ? 1 : 0, name: null, tab: "hlo" });
    this.quiz = new Quiz(this);
    this.change = new ChangeView(this);
    this.rule = new RuleView(this);
    this.code = new CodeView(this);
    this.loops = new LoopsView(this);
    this.memory = new MemoryView(this);
    this.timeline = new TimelineView(this);
    this.panel = new Panel(this);
    this.search = new Search(this);
    this.rule.element.addEventListener("click", (event) => this.followed(event));
    this.makeTabs();
    this.makePasses();
    this.makeButtons();
    addEventListener("keydown", (event) => this.pressed(event));
    addEventListener("hashchange", () => this.readLink());
    addEventListener("beforeprint", () => VirtualList.all.forEach((list) => list.draw(true, MOST_PRINTED)));
    addEventListener("afterprint", () => VirtualList.all.forEach((list) => list.draw(true)));
    this.readLink() || this.render();
  }

  // --------------------------------------------------------------------------------------- places

  go(place) {
    const before = `${this.pass}/${this.step}`, name = this.name;
    Object.assign(this, place);
    this.clamp();
    this.render();
    const isMoved = `${this.pass}/${this.step}` !== before;
    if (this.name !== null && (this.name !== name || place.name !== undefined) && !(isMoved && this.step)) {
      this.change.revealChosen();
    }
    try {
      history.replaceState(null, "", this.link({}));
    } catch { /* the page is in a frame without an address: in a notebook */ }
    if (isMoved) this.say(this.spoken());
  }

  clamp() {
    const count = this.trace.passes.length;
    this.pass = Math.min(Math.max(this.pass, 0), Math.max(count - 1, 0));
    const steps = count ? this.trace.passes[this.pass].steps.length : 0;
    // The quiz asks for one rewrite; all of them at once would give the answers.
    const least = steps && this.quiz.isOn ? 1 : 0;
    this.step = Math.min(Math.max(this.step, least), steps);
  }

  // The next or previous rewrite, over the ends of passes.
  nextStep(by) {
    if (this.tab === "loops") return this.loops.step(by);
    const { trace, pass, step } = this, steps = trace.passes[pass].steps.length;
    if (step + by >= 1 && step + by <= steps) return this.go({ step: step + by });
    const next = by > 0 ? trace.changing.find((n) => n > pass) : trace.changing.filter((n) => n < pass).pop();
    if (next !== undefined) return this.go({ pass: next, step: by > 0 ? 1 : trace.passes[next].steps.length });
    if (by < 0 && step) return this.go({ step: 0 });
    return this.say(by > 0 ? "That was the last rewrite." : "That was the first rewrite.");
  }

  nextPass(by) {
    const { trace, pass } = this;
    const next = by > 0 ? trace.changing.find((n) => n > pass) : trace.changing.filter((n) => n < pass).pop();
    if (next !== undefined) this.go({ pass: next, step: 0 });
  }

  link({ pass = this.pass, step = this.step, name = this.name, tab = this.tab }) {
    const parts = [`pass=${pass + 1}`, `step=${step}`];
    if (name !== null) parts.push(`i=${encodeURIComponent(this.trace.names[name])}`);
    if (tab !== "hlo") parts.push(`tab=${encodeURIComponent(tab)}`);
    return "#" + parts.join("&");
  }

  readLink() {
    const given = new URLSearchParams(location.hash.slice(1));
    if (!given.has("pass")) return false;
    const name = this.trace.nameNumber.get(given.get("i"));
    this.go({ pass: Number(given.get("pass")) - 1 || 0, step: Number(given.get("step")) || 0,
      name: name === undefined ? null : name, tab: this.tabs.has(given.get("tab")) ? given.get("tab") : "hlo" });
    return true;
  }

  // The place that the tab shows: the other tabs show the module after all passes.
  place() {
    const { trace, pass, step, tab } = this;
    return tab === "hlo" || !trace.passes.length ? { pass, step } : { pass: trace.passes.length - 1, step: 0 };
  }

  // The modules before and after the change that the tab shows.
  states() {
    if (this.tab === "hlo") return this.change.states;
    this.last = this.last || new State(this.trace, this.trace.starts[this.trace.starts.length - 1]);
    return [this.last, this.last];
  }

  followed(event) {
    const word = event.target.closest("[data-name]");
    if (word) this.go({ name: Number(word.dataset.name) });
  }

  // -------------------------------------------------------------------------------------- showing

  render() {
    const begun = performance.now();
    this.change.render();
    this.rule.render();
    this.panel.render();
    this.renderPasses();
    this.renderSlider();
    for (const [tab, button] of this.tabs) {
      button.setAttribute("aria-selected", tab === this.tab ? "true" : "false");
      button.tabIndex = tab === this.tab ? 0 : -1;
    }
    const languages = this.code.languages(), pane = languages.includes(this.tab) ? "code" : this.tab;
    for (const each of ["hlo", "loops", "code", "memory", "timeline"]) show(byId(`pane-${each}`), each === pane);
    if (pane === "code") this.code.render(this.tab);
    else if (pane !== "hlo") this[pane].render();
    this.milliseconds = performance.now() - begun;
  }

  renderSlider() {
    const run = this.trace.passes[this.pass], slider = byId("slider");
    const steps = run ? run.steps.length : 0;
    slider.max = steps;
    slider.value = this.step;
    slider.disabled = !steps;
    const told = this.step ? `rewrite ${this.step} of ${steps}` : steps ? `all ${plural(steps, "rewrite")}` : "no rewrites";
    slider.setAttribute("aria-valuetext", told);
    byId("where").textContent = told;
    byId("overall").textContent = run ? `${run.doneBefore + this.step} of ${this.trace.total} in all` : "";
  }

  makeTabs() {
    const names = [["hlo", "HLO"], ["loops", "Loops"], ...this.code.languages().map((each) => [each, each]), ["memory", "Memory"], ["timeline", "Timeline"]];
    this.tabs = new Map(names.map(([tab, label]) => [tab, el("button", { type: "button", role: "tab", id: `tab-${tab}`,
      onclick: () => this.go({ tab }) }, label)]));
    byId("tabs").replaceChildren(...this.tabs.values());
    byId("tabs").addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      const all = [...this.tabs.keys()], tab = all[(all.indexOf(this.tab) + by + all.length) % all.length];
      this.go({ tab });
      this.tabs.get(tab).focus();
    });
  }

  makePasses() {
    const { trace } = this;
    this.items = trace.passes.map((run) => {
      const mark = run.verified === true ? ["✓", "verified"] : run.verified === false ? ["✗", "the verifier found a fault"] : ["", ""];
      const path = run.path.slice(1, -1).join(" › ");
      return el("li", { class: run.steps.length ? "changed" : "idle" }, el("button", { type: "button", title: `${run.summary}\n${run.place.join(":")}`,
        onclick: () => this.go({ pass: run.number, step: 0, tab: "hlo" }) },
        el("span", { class: "number" }, String(run.number + 1)),
        el("span", { class: "title" }, ...breakable(run.name), path ? el("small", {}, path) : ""),
        el("span", { class: "count", "aria-label": plural(run.steps.length, "rewrite") }, run.steps.length ? String(run.steps.length) : ""),
        el("span", { class: "verdict", title: mark[1], "aria-label": mark[1] }, mark[0])));
    });
    byId("passes").replaceChildren(...this.items);
    const box = byId("show-idle");
    box.addEventListener("change", () => byId("passes").classList.toggle("with-idle", box.checked));
    const idle = trace.passes.filter((run) => !run.steps.length).length;
    byId("idle-count").textContent = plural(idle, "run") + " that changed nothing";
  }

  renderPasses() {
    this.items.forEach((item, number) => {
      const isHere = number === this.pass;
      item.classList.toggle("here", isHere);
      item.firstChild.setAttribute("aria-current", isHere ? "step" : "false");
      if (isHere) item.scrollIntoView({ block: "nearest" });
    });
  }

  makeButtons() {
    const on = (id, run) => byId(id).addEventListener("click", run);
    on("back", () => this.nextStep(-1));
    on("forward", () => this.nextStep(1));
    on("quiz", () => this.quiz.toggle());
    on("unfold", () => this.change.openAll());
    on("theme", () => this.changeTheme());
    on("help", () => byId("keys").showModal());
    on("print", () => print());
    byId("slider").addEventListener("input", (event) => this.go({ step: Number(event.target.value) }));
    show(byId("fault"), Boolean(this.trace.fault));
    byId("fault").textContent = this.trace.fault;
    show(byId("notes"), this.trace.notes.length > 0);
    byId("notes").textContent = this.trace.notes.join("; ");
  }

  changeTheme() {
    const root = document.documentElement, isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = root.dataset.theme || (isDark ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
  }

  say(text) {
    byId("spoken").textContent = text;
  }

  spoken() {
    const run = this.trace.passes[this.pass], step = run.steps[this.step - 1];
    if (!step) return `Pass ${this.pass + 1}, ${run.name}, ${plural(run.steps.length, "rewrite")}`;
    const rule = step.rule === undefined ? "" : `, ${this.trace.rules[step.rule].name}, promise ${step.promise}`;
    return `Rewrite ${this.step} of ${run.steps.length} in ${run.name}${rule}`;
  }

  // ----------------------------------------------------------------------------------------- keys

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
    const keys = {
      j: () => this.nextStep(1),
      k: () => this.nextStep(-1),
      n: () => this.nextPass(1),
      p: () => this.nextPass(-1),
      "/": () => this.search.input.focus(),
      g: () => byId("details").querySelector(".graph-scroll")?.focus(),
      e: () => this.change.openAll(),
      q: () => this.quiz.toggle(),
      t: () => this.changeTheme(),
      "?": () => byId("keys").showModal(),
      Escape: () => this.go({ name: null }),
    };
    const tab = [...this.tabs.keys()][Number(event.key) - 1];
    const run = tab ? () => this.go({ tab }) : keys[event.key];
    if (!run) return;
    event.preventDefault();
    run();
  }
}

async function begin() {
  try {
    const trace = new Trace(await unpack(byId("trace")));
    window.viewer = new App(trace);
    document.body.classList.remove("loading");
    document.body.dataset.ready = String(Math.round(performance.now()));
  } catch (error) {
    byId("loading").textContent = `This page could not be read: ${error.message}. It needs a browser of 2023 or later.`;
    throw error;
  }
}

begin();
