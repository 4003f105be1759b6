// How lines are shown, and how wide the panes are.

const OPTIONS = [
  ["wrap", "Wrap", "w", "wrap long lines"],
  ["layouts", "Layouts", "l", "show layouts, metadata and configurations"],
  ["source", "Source", "s", "show the line of your program beside each instruction"],
];

class Options {
  constructor() {
    this.on = new Set();
  }

  isOn(name) {
    return this.on.has(name);
  }

  // Buttons, and lines between panes that one can drag. `changed` is called for options.
  begin(changed) {
    this.changed = changed;
    this.buttons = new Map(OPTIONS.map(([name, label, key, title]) => [name, el("button", { type: "button", title: `${title} (${key})`,
      "aria-pressed": "false", id: `option-${name}`, onclick: () => this.toggle(name) }, label)]));
    byId("options").replaceChildren(...this.buttons.values());
    const root = document.documentElement.style;
    this.splitter(byId("split-nav"), (x) => root.setProperty("--nav", `${Math.min(Math.max(x, 90), innerWidth / 2)}px`), () => byId("split-nav").getBoundingClientRect().left);
    this.splitter(byId("split-aside"), (x) => root.setProperty("--aside", `${Math.min(Math.max(innerWidth - x, 160), innerWidth * 0.7)}px`), () => byId("split-aside").getBoundingClientRect().left);
    for (const each of document.querySelectorAll(".panes > .splitter")) {
      const box = () => each.parentElement.getBoundingClientRect();
      this.splitter(each, (x) => root.setProperty("--split", String(Math.min(Math.max((x - box().left) / box().width, 0.08), 0.92))), () => each.getBoundingClientRect().left);
    }
  }

  toggle(name) {
    this.set(this.isOn(name) ? [...this.on].filter((each) => each !== name) : [...this.on, name]);
    this.changed();
  }

  set(names) {
    this.on = new Set(names.filter((name) => OPTIONS.some(([known]) => known === name)));
    this.buttons?.forEach((button, name) => button.setAttribute("aria-pressed", String(this.isOn(name))));
  }

  // A line that moves as it is dragged, or by arrow keys while it has the focus.
  splitter(element, moveTo, where) {
    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      element.classList.add("dragged");
      event.preventDefault();
    });
    element.addEventListener("pointermove", (event) => {
      if (element.hasPointerCapture(event.pointerId)) moveTo(event.clientX);
    });
    element.addEventListener("pointerup", () => element.classList.remove("dragged"));
    element.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -24, ArrowRight: 24 }[event.key];
      if (!by) return;
      event.preventDefault();
      moveTo(where() + by);
    });
  }
}
