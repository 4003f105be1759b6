// Pictures: where arrays lie in memory and when, and what passes did how fast.

class MemoryView {
  constructor(app) {
    this.app = app;
    this.element = byId("memory-picture");
    this.element.addEventListener("click", (event) => app.followed(event));
  }

  render() {
    const { memory } = this.app.trace;
    if (!memory) return this.element.replaceChildren(el("p", { class: "dim" }, "There is no buffer assignment for this pipeline."));
    const kinds = ["temporary", "output", "parameter", "constant", "thread-local"];
    const allocations = memory.allocations.filter((each) => each.size && each.values.length)
      .sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind));
    const moments = memory.order.length ? memory.order[memory.order.length - 1][0] + 1 : 1;
    const sums = kinds.map((kind) => [kind, memory.allocations.filter((each) => each.kind === kind).reduce((sum, each) => sum + each.size, 0)]);
    this.element.replaceChildren(
      el("p", {}, ...sums.filter(([, size]) => size).map(([kind, size]) => el("span", { class: "badge" }, `${kind} ${bytes(size)}`))),
      el("p", { class: "dim" }, "Across: the order in which the module runs. Upwards: addresses. A bar is a value, as long as it is needed."),
      ...allocations.slice(0, 60).map((each) => this.allocation(each, moments)));
    if (allocations.length > 60) this.element.append(el("p", {}, `and ${allocations.length - 60} more allocations`));
  }

  // Bars of the values in an allocation. Many moments make it wider than the window.
  allocation(allocation, moments) {
    const { trace, name } = this.app, isTemporary = allocation.kind === "temporary";
    const width = isTemporary ? Math.max(900, Math.min(2 * moments, 8000)) : 900;
    const height = isTemporary ? Math.max(260, Math.min(520, 5 * lanesOf(allocation))) : Math.max(16, Math.min(120, 14 * lanesOf(allocation)));
    const drawn = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: width > 900 ? "memory wide" : "memory", role: "img",
      "aria-label": `${allocation.kind}, ${bytes(allocation.size)}, ${plural(allocation.values.length, "value")}`,
      ...(width > 900 ? { width, height } : {}) });
    const labels = new Labels(), alive = new Float64Array(moments + 1);
    for (const [value, offset, size, shape, spans] of allocation.values) {
      const number = trace.nameNumber.get(value.split("{")[0].split(" ")[0]);
      for (const [first, last] of spans) {
        for (let n = Math.max(0, first); n <= Math.min(last, moments - 1); n += 1) alive[n] += size;
        const x = (first / moments) * width, w = Math.max(1, ((last - first + 1) / moments) * width);
        const tall = Math.max(1, (size / allocation.size) * height), y = height - (offset / allocation.size) * height - tall;
        // A border would hide a thin bar.
        const classes = ["value", number !== undefined && number === name ? "chosen" : "", w > 6 && tall > 6 ? "framed" : ""];
        const group = svg("g", { class: classes.join(" "), "data-name": number });
        group.append(svg("rect", { x, y, width: w, height: tall }), svg("title", {}, `%${value} ${shape}, ${bytes(size)} at ${offset}, moments ${first} to ${last}`));
        drawn.append(group);
        if (tall > 11) labels.add("%" + value, x, x + w, y + tall / 2 + 4);
      }
    }
    const told = `${allocation.kind}, ${bytes(allocation.size)}`;
    if (!isTemporary) {
      drawn.append(...labels.drawn);
      return el("figure", {}, el("figcaption", {}, told), drawn);
    }
    const most = Math.max(...alive), peak = alive.indexOf(most), at = ((peak + 0.5) / moments) * width;
    const order = this.app.trace.memory.order.find(([moment]) => moment === peak);
    drawn.append(svg("path", { class: "peak", d: `M${at} 0V${height}` }), ...labels.drawn);
    return el("figure", {}, el("figcaption", {}, `${told}; the peak, ${bytes(most)}, is at moment ${peak.toLocaleString("en")}`,
      order ? [", ", ...this.app.words.ofText(`%${order[1]}`, name, null)] : ""), el("div", { class: "sideways" }, drawn));
  }
}

// Names on bars, above all bars. Values that share memory have bars on top of each other: a name
// is written where none is yet, or nowhere.
class Labels {
  constructor() {
    this.drawn = [];
    this.taken = [];
  }

  add(text, start, end, y) {
    const hits = this.taken.filter((other) => Math.abs(other.y - y) < 12 && other.start < end && start < other.end);
    const from = Math.max(start, ...hits.map((other) => other.end));
    if (end - from <= 60) return;
    const shown = clipped(text, Math.floor((end - from) / 7));
    this.taken.push({ start: from, end: Math.min(end, from + 6 + 7 * shown.length), y });
    this.drawn.push(svg("text", { x: from + 3, y }, shown));
  }
}

function lanesOf(allocation) {
  return new Set(allocation.values.map(([, offset]) => offset)).size;
}

// What each pass did: instructions after it, rewrites, and milliseconds.
class TimelineView {
  constructor(app) {
    this.app = app;
    this.element = byId("timeline-picture");
    this.element.addEventListener("click", (event) => app.followed(event));
  }

  // When each instruction would run on a GPU, a row a lane.
  device() {
    const { trace, name } = this.app, { timeline } = trace;
    if (!timeline.length) return [];
    const end = Math.max(...timeline.map((span) => span[3])), lanes = [...new Set(timeline.map((span) => span[0]))];
    const width = Math.max(900, Math.min(9 * timeline.length, 9000)), tall = 34, height = lanes.length * tall;
    const drawn = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: width > 900 ? "memory wide" : "memory", role: "img", ...(width > 900 ? { width, height } : {}),
      "aria-label": `${plural(timeline.length, "instruction")} in ${(end * 1e6).toFixed(1)} microseconds` });
    for (const [lane, number, start, stop] of timeline) {
      const x = (start / end) * width, w = Math.max(1, ((stop - start) / end) * width), y = lanes.indexOf(lane) * tall + 3;
      const told = `%${trace.names[number]}, ${lane}, ${((stop - start) * 1e6).toFixed(2)} µs`;
      drawn.append(svg("g", { class: `value ${number === name ? "chosen" : ""} ${w > 6 ? "framed" : ""}`, "data-name": number }, svg("title", {}, told),
        svg("rect", { x, y, width: w, height: tall - 6 }),
        w > 60 ? svg("text", { x: x + 3, y: y + 18 }, clipped("%" + trace.names[number], Math.floor(w / 7))) : null));
    }
    return [el("figure", {}, el("figcaption", {}, `On a GPU: ${lanes.join(", ")}; ${(end * 1e6).toFixed(1)} µs in all`), el("div", { class: "sideways" }, drawn))];
  }

  render() {
    const { trace } = this.app;
    const most = Math.max(...trace.passes.map((each) => each.milliseconds), 0.001);
    const count = (rows) => rows.reduce((sum, row) => sum + (trace.isInstruction(row) ? 1 : 0), 0);
    let size = count(trace.start);
    const rows = trace.passes.map((run) => {
      const before = size;
      if (run.steps.length) size = count(trace.starts[run.number + 1]);
      const link = el("a", { href: this.app.link({ pass: run.number, step: 0, tab: "hlo" }) }, run.name);
      return el("tr", { class: run.steps.length ? "" : "idle" }, el("td", {}, String(run.number + 1)), el("th", { scope: "row" }, link),
        el("td", {}, run.steps.length ? String(run.steps.length) : ""),
        el("td", {}, size.toLocaleString("en")), el("td", {}, size === before ? "" : (size > before ? "+" : "−") + Math.abs(size - before)),
        el("td", {}, run.milliseconds.toFixed(2)),
        el("td", { class: "bar" }, el("span", { style: `width:${(run.milliseconds / most) * 100}%` })));
    });
    const heads = ["", "pass", "rewrites", "instructions", "change", "ms", "time"].map((head) => el("th", { scope: "col" }, head));
    this.element.replaceChildren(...this.device(), el("table", {}, el("caption", {}, "The passes, in their order"), el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows)));
  }
}
