// What is shown: a place in the trace, an instruction, a tab; and the keys that change it.

const PANES = ["hlo", "graph", "loops", "code", "memory", "timeline", "sharding"];

class App {
  constructor(trace) {
    this.trace = trace;
    this.options = new Options();
    this.words = new Words(trace, this.options);
    const first = trace.changing.length ? trace.changing[0] : 0;
    Object.assign(this, { pass: first, step: trace.changing.length ? 1 : 0, name: null, tab: "hlo", from: null });
    this.quiz = new Quiz(this);
    this.change = new ChangeView(this);
    this.rule = new RuleView(this);
    this.code = new CodeView(this);
    this.loops = new LoopsView(this);
    this.graph = new GraphView(this);
    this.sharding = new ShardingView(this);
    this.memory = new MemoryView(this);
    this.timeline = new TimelineView(this);
    this.panel = new Panel(this);
    this.search = new Search(this);
    this.rule.element.addEventListener("click", (event) => this.followed(event));
    this.makeTabs();
    this.passes = new PassList(this);
    this.makeButtons();
    this.options.begin(() => this.go({}));
    addEventListener("keydown", (event) => this.pressed(event));
    addEventListener("pointerdown", (event) => { if (!event.target.closest("#play, #pace")) this.passes.stop(); });
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
    // The module is the same before all passes up to the next that changes it.
    if (this.from !== null) this.from = this.trace.changing.find((number) => number >= this.from && number <= this.pass) ?? null;
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
    if (this.from !== null) parts.push(`from=${this.from + 1}`);
    if (this.options.on.size) parts.push(`show=${[...this.options.on].join("+")}`);
    return "#" + parts.join("&");
  }

  readLink() {
    const given = new URLSearchParams(location.hash.slice(1));
    if (!given.has("pass")) return false;
    const name = this.trace.nameNumber.get(given.get("i"));
    this.options.set((given.get("show") || "").split(/[ +]/));
    this.go({ pass: Number(given.get("pass")) - 1 || 0, step: Number(given.get("step")) || 0,
      name: name === undefined ? null : name, from: given.has("from") ? Number(given.get("from")) - 1 : null, tab: this.tabs.has(given.get("tab")) ? given.get("tab") : "hlo" });
    return true;
  }

  // Whether the tab shows the module at its place in the trace; the others show the last one.
  isOfModule() {
    return ["hlo", "graph", "sharding"].includes(this.tab);
  }

  place() {
    const { trace, pass, step } = this;
    return this.isOfModule() || !trace.passes.length ? { pass, step } : { pass: trace.passes.length - 1, step: 0 };
  }

  // The modules before and after the change that the tab shows.
  states() {
    if (this.isOfModule()) return this.change.states;
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
    document.body.classList.toggle("chosen", this.name !== null);
    const languages = this.code.languages(), pane = languages.includes(this.tab) ? "code" : this.tab;
    for (const each of PANES) show(byId(`pane-${each}`), each === pane);
    show(byId("stepper"), this.isOfModule());
    this.change.render();
    this.rule.render();
    this.panel.render();
    this.passes.render();
    for (const [tab, button] of this.tabs) {
      button.setAttribute("aria-selected", tab === this.tab ? "true" : "false");
      button.tabIndex = tab === this.tab ? 0 : -1;
    }
    if (pane === "code") this.code.render(this.tab);
    else if (pane !== "hlo") this[pane].render();
    this.milliseconds = performance.now() - begun;
  }

  makeTabs() {
    const names = [["hlo", "HLO"], ["graph", "Graph"], ["loops", "Loops"], ...this.code.languages().map((each) => [each, each]), ["memory", "Memory"], ["timeline", "Timeline"],
      ...(this.sharding.isEmpty() ? [] : [["sharding", "Sharding"]])];
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

  makeButtons() {
    const on = (id, run) => byId(id).addEventListener("click", run);
    on("back", () => this.nextStep(-1));
    on("forward", () => this.nextStep(1));
    on("quiz", () => this.quiz.toggle());
    on("unfold", () => this.change.openAll());
    on("theme", () => this.changeTheme());
    on("help", () => byId("keys").showModal());
    on("print", () => print());
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
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.target.closest("input, select, textarea, dialog")) return;
    if (event.key !== " ") this.passes.stop();
    const choice = LETTERS.indexOf(event.key);
    const keys = {
      j: () => this.nextStep(1),
      k: () => this.nextStep(-1),
      n: () => this.nextPass(1),
      p: () => this.nextPass(-1),
      "/": () => this.search.input.focus(),
      g: () => this.go({ tab: this.tab === "graph" ? "hlo" : "graph" }),
      w: () => this.options.toggle("wrap"),
      l: () => this.options.toggle("layouts"),
      s: () => this.options.toggle("source"),
      m: () => this.passes.compareWith(this.from === null ? this.pass : null),
      " ": () => this.passes.play(),
      e: () => this.change.openAll(),
      q: () => this.quiz.toggle(),
      t: () => this.changeTheme(),
      "?": () => byId("keys").showModal(),
      Escape: () => this.go({ name: null }),
    };
    const tab = [...this.tabs.keys()][Number(event.key) - 1];
    const run = this.quiz.hides() && choice >= 0 ? () => this.quiz.answer(choice) : tab ? () => this.go({ tab }) : keys[event.key];
    if (!run || (event.key === " " && event.target.closest("button, a, summary"))) return;
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
