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

  allocation(allocation, moments) {
    const { trace, name } = this.app, width = 900;
    const height = allocation.kind === "temporary" ? 260 : Math.max(16, Math.min(120, 14 * lanesOf(allocation)));
    const drawn = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "memory", role: "img", preserveAspectRatio: "none",
      "aria-label": `${allocation.kind}, ${bytes(allocation.size)}, ${plural(allocation.values.length, "value")}` });
    const labels = new Labels();
    for (const [value, offset, size, shape, spans] of allocation.values) {
      const number = trace.nameNumber.get(value.split("{")[0].split(" ")[0]);
      for (const [first, last] of spans) {
        const x = (first / moments) * width, w = Math.max(2, ((last - first + 1) / moments) * width);
        const tall = Math.max(2, (size / allocation.size) * height), y = height - (offset / allocation.size) * height - tall;
        const group = svg("g", { class: number !== undefined && number === name ? "value chosen" : "value", "data-name": number });
        group.append(svg("rect", { x, y, width: w, height: tall }), svg("title", {}, `%${value} ${shape}, ${bytes(size)} at ${offset}, moments ${first} to ${last}`));
        drawn.append(group);
        if (tall > 11) labels.add("%" + value, x, x + w, y + tall / 2 + 4);
      }
    }
    drawn.append(...labels.drawn);
    return el("figure", {}, el("figcaption", {}, `${allocation.kind}, ${bytes(allocation.size)}`), drawn);
  }
}

// Names on bars, above all bars. Values that share memory have bars on top of each other: a name
// stands where none stands yet, or nowhere.
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

// The blocks of an array that devices share: a colour for each device, copies in stripes.
function shardPicture(grid) {
  if (!grid) return [];
  const [rows, columns, blocks] = grid, devices = Math.max(...blocks.flat()) + 1;
  const side = Math.max(6, Math.min(44, 360 / Math.max(rows, columns))), width = columns * side, height = rows * side;
  const drawn = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "shards", role: "img",
    "aria-label": `${plural(blocks.length, "block")} on ${plural(devices, "device")}` });
  blocks.forEach((held, block) => {
    const x = (block % columns) * side, y = Math.floor(block / columns) * side, shown = held.slice(0, 8);
    const told = `block ${block}: ${held.length === 1 ? "device" : "devices"} ${held.join(", ")}`;
    drawn.append(svg("g", {}, svg("title", {}, told),
      ...shown.map((device, n) => svg("rect", { x: x + (n * side) / shown.length, y, width: side / shown.length, height: side,
        fill: `hsl(${Math.round((360 * device) / devices)} 65% 72%)` })),
      svg("rect", { x, y, width: side, height: side, class: "block" }),
      side >= 20 ? svg("text", { x: x + side / 2, y: y + side / 2 + 4 }, held.length > 1 ? `${held[0]}…` : String(held[0])) : null));
  });
  return [el("h3", {}, "Devices"), el("figure", {}, drawn, el("figcaption", {}, "A colour is a device; stripes hold copies."))];
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
    const width = 900, tall = 34, height = lanes.length * tall;
    const drawn = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "memory", role: "img",
      "aria-label": `${plural(timeline.length, "instruction")} in ${(end * 1e6).toFixed(1)} microseconds` });
    for (const [lane, number, start, stop] of timeline) {
      const x = (start / end) * width, w = Math.max(1.5, ((stop - start) / end) * width), y = lanes.indexOf(lane) * tall + 3;
      const told = `%${trace.names[number]}, ${lane}, ${((stop - start) * 1e6).toFixed(2)} µs`;
      drawn.append(svg("g", { class: number === name ? "value chosen" : "value", "data-name": number }, svg("title", {}, told),
        svg("rect", { x, y, width: w, height: tall - 6 }),
        w > 60 ? svg("text", { x: x + 3, y: y + 18 }, clipped("%" + trace.names[number], Math.floor(w / 7))) : null));
    }
    return [el("figure", {}, el("figcaption", {}, `On a GPU: ${lanes.join(", ")}; ${(end * 1e6).toFixed(1)} µs in all`), drawn)];
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
        el("td", {}, String(size)), el("td", {}, size === before ? "" : (size > before ? "+" : "−") + Math.abs(size - before)),
        el("td", {}, run.milliseconds.toFixed(2)),
        el("td", { class: "bar" }, el("span", { style: `width:${(run.milliseconds / most) * 100}%` })));
    });
    const heads = ["", "pass", "rewrites", "instructions", "change", "ms", "time"].map((head) => el("th", { scope: "col" }, head));
    this.element.replaceChildren(...this.device(), el("table", {}, el("caption", {}, "Every run of a pass, in order"), el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows)));
  }
}
