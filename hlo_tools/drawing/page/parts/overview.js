// The graph of the whole module. Scopes fold; each is laid out by itself, in layers by the longest
// path and in the order of the text, so that nothing moves that does not change.

const BOX = { height: 38, across: 14, down: 34, head: 24, inset: 12, widest: 1300 };
const FIRST_BOXES = 60, MOST_BOXES = 800;

class GraphView {
  constructor(app) {
    this.app = app;
    this.element = byId("graph-picture");
    this.opened = new Map(); // by the key of a scope: whether somebody opened or closed it
    this.most = FIRST_BOXES;
    this.zoom = 1;
    const control = (label, title, run) => el("button", { type: "button", title, onclick: run }, label);
    byId("graph-bar").replaceChildren(
      control("Fold all", "fold every scope", () => this.foldTo(1)),
      control("Unfold more", "twice as many boxes", () => this.foldTo(Math.min(2 * this.most, MOST_BOXES))),
      control("−", "smaller", () => this.zoomTo(this.zoom / 1.3)), control("+", "larger", () => this.zoomTo(this.zoom * 1.3)),
      control("Fit", "the whole graph", () => this.fit()), this.told = el("span", { class: "dim" }));
    this.element.addEventListener("click", (event) => this.clicked(event));
    this.element.addEventListener("keydown", (event) => { if (event.key === "Enter") this.clicked(event); });
    this.element.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.zoomTo(this.zoom * (event.deltaY < 0 ? 1.15 : 1 / 1.15));
    }, { passive: false });
  }

  foldTo(most) {
    this.opened.clear();
    this.most = Math.max(most, FIRST_BOXES / 2);
    this.isFolded = most === 1;
    this.render();
  }

  zoomTo(zoom) {
    this.zoom = Math.min(Math.max(zoom, 0.05), 3);
    this.scale();
  }

  fit() {
    const { clientWidth, clientHeight } = this.element;
    this.zoomTo(Math.min((clientWidth - 12) / this.width, (clientHeight - 12) / this.height, 1.2));
  }

  scale() {
    this.drawn.setAttribute("width", this.width * this.zoom);
    this.drawn.setAttribute("height", this.height * this.zoom);
  }

  render() {
    const { app } = this, state = app.states()[1];
    if (state !== this.state) {
      this.state = state;
      this.tree = new ScopeTree(app.trace, state);
    }
    const chosen = app.name === null ? undefined : this.tree.partOf.get(app.name);
    if (chosen && chosen !== this.followed) for (let part = chosen.parent; part; part = part.parent) this.opened.set(part.key, true);
    const isNew = chosen !== this.followed;
    this.followed = chosen;
    this.open = this.automatic();
    this.came = new Set(app.change.lines.filter((line) => line[2] === CHANGED && line[1] >= 0).map((line) => app.trace.rows.name[state.rows[line[1]]]));
    const placed = this.layOut(this.tree.root);
    [this.width, this.height] = [placed.width + 20, placed.height + 20];
    this.drawn = svg("svg", { viewBox: `0 0 ${this.width} ${this.height}`, role: "img", "aria-label": `graph of ${plural(this.tree.root.count, "instruction")}` });
    this.boxes = 0;
    this.draw(placed, 10, 10);
    this.element.replaceChildren(this.drawn);
    this.told.textContent = `${plural(this.tree.root.count, "instruction")} in ${plural(this.boxes, "box").replace("boxs", "boxes")}; a click on a scope folds it`;
    this.scale();
    if (isNew && chosen) this.drawn.querySelector(".node.chosen")?.scrollIntoView({ block: "center", inline: "center" });
  }

  // The scopes that are open: from the outermost on, as long as there is room.
  automatic() {
    const open = new Set([this.tree.root]), pending = [this.tree.root];
    let boxes = this.tree.root.parts.length;
    while (pending.length) {
      for (const part of pending.shift().parts) {
        if (!part.isScope) continue;
        const inside = part.parts.reduce((sum, each) => sum + Math.max(1, each.name === null && part.name !== null ? each.parts.length : 1), 0);
        const wish = this.opened.get(part.key) ?? (!this.isFolded && boxes + inside <= this.most);
        if (!wish) continue;
        boxes += inside;
        open.add(part);
        pending.push(part);
        // What an instruction runs is open with it.
        if (part.name !== null) for (const body of part.parts) { open.add(body); pending.push(body); }
      }
    }
    return open;
  }

  // A scope's parts with their places, and its size.
  layOut(scope) {
    const items = scope.parts.map((part) => {
      const scope = part.name !== null && part.parts.length === 1 ? part.parts[0] : part;
      const inner = this.open.has(part) && part.isScope ? this.layOut(scope) : null;
      const [width, height] = inner ? [Math.max(inner.width + 2 * BOX.inset, 7 * clipped(this.title(part), 60).length + 40), inner.height + BOX.head + BOX.inset] : [this.widthOf(part), BOX.height];
      return { part, inner, width, height, above: [], below: [], layer: 0, x: 0, y: 0 };
    });
    const edges = [...scope.edges].map(([key, count]) => [...key.split(",").map(Number), count]);
    for (const [from, to] of edges) {
      if (from >= to) continue;
      items[to].above.push(items[from]);
      items[from].below.push(items[to]);
    }
    for (const item of items) item.layer = Math.max(-1, ...item.above.map((each) => each.layer)) + 1;
    for (const item of [...items].reverse()) {
      if (!item.above.length && item.below.length) item.layer = Math.min(...item.below.map((each) => each.layer)) - 1;
    }
    const rows = this.rows(items);
    const width = Math.max(60, ...rows.map(widthOfRow));
    this.position(rows, width);
    let y = 0;
    for (const row of rows) {
      const tall = Math.max(...row.map((item) => item.height));
      for (const item of row) item.y = y;
      y += tall + BOX.down;
    }
    return { scope, items, edges, width, height: Math.max(y - BOX.down, 0) };
  }

  // Items by layer; a layer that is too wide becomes several rows.
  rows(items) {
    const layers = [];
    for (const item of items) (layers[item.layer] = layers[item.layer] || []).push(item);
    const rows = [];
    for (const layer of layers.filter(Boolean)) {
      let row = [];
      for (const item of layer) {
        if (row.length && widthOfRow([...row, item]) > BOX.widest) {
          rows.push(row);
          row = [];
        }
        row.push(item);
      }
      rows.push(row);
    }
    return rows;
  }

  // Each box as near as can be to what it uses, then to who uses it.
  position(rows, width) {
    const middle = (item) => item.x + item.width / 2;
    const settle = (row) => {
      let x = 0;
      for (const item of row) {
        item.x = Math.max(x, item.x);
        x = item.x + item.width + BOX.across;
      }
      let right = width;
      for (const item of [...row].reverse()) {
        item.x = Math.min(item.x, right - item.width);
        right = item.x - BOX.across;
      }
    };
    for (const row of rows) {
      let x = (width - widthOfRow(row)) / 2;
      for (const item of row) {
        item.x = x;
        x += item.width + BOX.across;
      }
    }
    for (let sweep = 0; sweep < 6; sweep += 1) {
      const isDown = sweep % 2 === 0;
      for (const row of isDown ? rows : [...rows].reverse()) {
        for (const item of row) {
          const near = isDown ? item.above : item.below;
          item.wish = near.length ? near.reduce((sum, each) => sum + middle(each), 0) / near.length : middle(item);
        }
        if (sweep < 4) row.sort((one, other) => one.wish - other.wish || one.part.index - other.part.index);
        for (const item of row) item.x = Math.max(0, item.wish - item.width / 2);
        settle(row);
      }
    }
  }

  title(part) {
    const { trace } = this.app;
    return part.name === null ? part.title : `${part.title} %${trace.names[part.name]}`;
  }

  widthOf(part) {
    return Math.min(240, Math.max(90, 6.8 * Math.max(...this.lines(part).map((line) => line.length)) + 18));
  }

  lines(part) {
    const { trace } = this.app;
    if (part.name !== null && !part.isScope) {
      const row = this.state.rows[this.state.place(part.name)];
      return ["%" + trace.names[part.name], `${part.title} ${trace.shapes[trace.rows.shape[row]][0].replace(LAYOUT, "")}`].map((line) => clipped(line, 34));
    }
    return [clipped(`▸ ${this.title(part)}`, 34), plural(part.count - (part.name === null ? 0 : 1), "instruction")];
  }

  draw(placed, left, top) {
    for (const [from, to, count] of placed.edges) {
      const a = placed.items[from], b = placed.items[to], isUp = a.y >= b.y;
      const x0 = left + a.x + a.width / 2, y0 = top + a.y + a.height, x1 = left + b.x + b.width / 2, y1 = top + b.y;
      const bend = isUp ? 40 : Math.max(14, Math.min(60, (y1 - y0) / 2));
      const names = [a.part.name, b.part.name];
      this.drawn.append(svg("path", { d: `M${x0} ${y0}C${x0} ${y0 + bend} ${x1} ${y1 - bend} ${x1} ${y1}`,
        class: `edge ${isUp ? "back" : ""} ${this.app.name !== null && names.includes(this.app.name) ? "lit" : ""}`, "stroke-width": 1 + Math.min(3, Math.log2(count)) }));
    }
    for (const item of placed.items) this.drawItem(item, left + item.x, top + item.y);
  }

  drawItem({ part, inner, width, height }, x, y) {
    const { trace } = this.app, isChosen = part.name !== null && part.name === this.app.name;
    const came = part.name !== null && this.came.has(part.name) ? "came" : "";
    const group = svg("g", { class: `node ${isChosen ? "chosen" : ""} ${came} ${part.isScope ? "scope" : ""}`, "data-name": part.name, "data-key": part.isScope ? part.key : null });
    this.drawn.append(group);
    if (inner) {
      group.append(svg("rect", { x, y, width, height, rx: 7, class: "open" }), svg("text", { x: x + 8, y: y + 16, class: "head" }, clipped(`▾ ${this.title(part)}`, Math.floor(width / 7))));
      this.draw(inner, x + (width - inner.width) / 2, y + BOX.head);
      return;
    }
    this.boxes += 1;
    const row = part.name === null ? -1 : this.state.rows[this.state.place(part.name)], family = row < 0 ? null : trace.opcodes[trace.rows.opcode[row]][2];
    const [first, second] = this.lines(part), middle = x + width / 2;
    group.append(svg("title", {}, row < 0 ? part.title : trace.textOf(row).trim()),
      svg("rect", { x, y, width, height, rx: 5, class: family === null ? "folded" : `family-${family}` }),
      svg("text", { x: middle, y: y + 16, class: "label" }, first), svg("text", { x: middle, y: y + 30, class: "small" }, second));
    // A constant is a label on a short edge of its own.
    part.labels.forEach((label, n) => {
      const at = x + 8 + n * 52;
      group.append(svg("path", { d: `M${at} ${y - 9}V${y}`, class: "edge" }), svg("text", { x: at + 3, y: y - 3, class: "constant" }, clipped(label, 7)));
    });
  }

  clicked(event) {
    const node = event.target.closest("[data-name], [data-key]");
    if (!node) return;
    const { key, name } = node.dataset;
    if (key !== undefined) {
      const part = [...this.parts(this.tree.root)].find((each) => each.key === key);
      this.opened.set(key, !this.open.has(part));
      this.render();
    }
    if (name !== undefined) this.app.go({ name: Number(name) });
  }

  * parts(scope) {
    for (const part of scope.parts) {
      yield part;
      yield* this.parts(part);
    }
  }
}

function widthOfRow(row) {
  return row.reduce((sum, item) => sum + item.width + BOX.across, -BOX.across);
}
