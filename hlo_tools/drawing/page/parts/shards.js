// Sharding: which device holds which block of an array.

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

// All arrays of the module that are cut, with their blocks.
class ShardingView {
  constructor(app) {
    this.app = app;
    this.element = byId("sharding-picture");
    this.element.addEventListener("click", (event) => app.followed(event));
  }

  isEmpty() {
    return !this.app.trace.shardsOf.size;
  }

  render() {
    const { trace, words, name } = this.app, rows = this.app.states()[1].rows.filter((row) => trace.shardsOf.has(row));
    const most = 200, shown = rows.slice(0, most).map((row) => {
      const [down, across, blocks] = trace.shardsOf.get(row), held = Math.max(...blocks.map((each) => each.length));
      const [figure] = shardPicture(trace.shardsOf.get(row)).slice(1);
      return el("tr", { class: trace.rows.name[row] === name ? "chosen" : "" },
        el("th", { scope: "row" }, ...words.ofText("%" + trace.nameOf(row), name, null)), el("td", {}, el("code", {}, trace.shapes[trace.rows.shape[row]][0])),
        el("td", {}, plural(down * across, "block"), held > 1 ? `, ${held} copies of each` : ""),
        el("td", {}, el("code", {}, sharding(trace.textOf(row)))), el("td", {}, figure.firstChild));
    });
    const heads = ["instruction", "shape", "blocks", "sharding", "devices"].map((head) => el("th", { scope: "col" }, head));
    this.element.replaceChildren(
      el("p", { class: "dim" }, rows.length ? `${plural(rows.length, "array")} of this module is cut among devices. A colour is a device; stripes hold copies.`.replace("s of this module is", "s of this module are")
        : "No array of this module is cut: choose an earlier pass."),
      rows.length ? el("table", { class: "shardings" }, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...shown)) : "",
      rows.length > most ? el("p", { class: "dim" }, `and ${rows.length - most} more`) : "");
  }
}

// The sharding in a line's text.
function sharding(text) {
  const found = /sharding=\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}/.exec(text);
  return found ? found[1] : "";
}
