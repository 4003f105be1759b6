// Predict before you look: the new lines stay covered until they are guessed, or given up.

class Quiz {
  constructor(app) {
    this.app = app;
    this.isOn = false;
    this.revealed = new Set();
    this.right = this.asked = 0;
    byId("guess").addEventListener("submit", (event) => {
      event.preventDefault();
      this.check();
    });
    byId("give-up").addEventListener("click", () => this.reveal(false));
  }

  toggle() {
    this.isOn = !this.isOn;
    byId("quiz").setAttribute("aria-pressed", this.isOn ? "true" : "false");
    this.app.go({});
  }

  hides() {
    const { pass, step } = this.app;
    return this.isOn && step > 0 && !this.revealed.has(`${pass}/${step}`);
  }

  cover(pass, step) {
    const isHidden = this.hides();
    document.body.classList.toggle("covered", isHidden);
    show(byId("question"), isHidden);
    if (!isHidden) return;
    const { trace } = this.app, change = trace.passes[pass].steps[step - 1];
    const old = change.old === undefined ? "the module" : "%" + trace.names[change.old];
    byId("question-text").textContent = change.new && change.new.length
      ? `What takes the place of ${old}? Type one of the lines that come, without its name or layout if you like.`
      : `${old} goes. Which line, if any, comes? Type it, or look.`;
    byId("verdict").textContent = this.asked ? `${this.right} of ${this.asked} right so far` : "";
    byId("answer").value = "";
  }

  // The texts of the rows that come in this step.
  wanted() {
    const { trace, pass, step } = this.app;
    const came = trace.passes[pass].steps[step - 1].edits.flatMap(([, , rows]) => rows);
    return came.filter((row) => trace.isInstruction(row)).map((row) => trace.textOf(row));
  }

  check() {
    const guess = normal(byId("answer").value);
    if (!guess) return;
    const isRight = this.wanted().some((text) => normal(text) === guess || normal(text.split(" = ")[1]) === guess
      || normal(text.split(" = ")[1].replace(/^\S+ /, "")) === guess);
    if (isRight) this.reveal(true);
    else byId("verdict").textContent = "No line that comes says this. Try again, or look.";
  }

  reveal(isRight) {
    const { pass, step } = this.app;
    this.revealed.add(`${pass}/${step}`);
    this.asked += 1;
    this.right += isRight ? 1 : 0;
    this.app.say(isRight ? "Right." : "Shown.");
    this.app.render();
  }
}

// A line without what one may leave out: spaces, percent signs, ROOT, layouts.
function normal(text) {
  return text.replace(/ROOT /, "").replace(/\{[\d,]*\}(?=[\s),]|$)/g, "").replace(/[\s%]/g, "").toLowerCase();
}
