// The graph around an instruction: layers by the longest path, and inside of a layer the order of
// the text. Nothing is optimised, so that it looks alike from step to step.

const MOST_NODES = 120, NODE = { width: 136, height: 34, across: 10, down: 26 };

function neighbourhood(app, state, name, hops) {
  const nodes = reached(state, name, hops);
  const order = [...nodes].sort((a, b) => state.place(a) - state.place(b));
  const layer = new Map(), layers = [];
  for (const node of order) {
    const above = state.operands(state.place(node)).filter((o) => nodes.has(o)).map((o) => layer.get(o));
    const depth = above.length ? Math.max(...above) + 1 : 0;
    layer.set(node, depth);
    (layers[depth] = layers[depth] || []).push(node);
  }
  const widest = Math.max(...layers.map((each) => each.length));
  const width = widest * (NODE.width + NODE.across) + NODE.across;
  const height = layers.length * (NODE.height + NODE.down) + NODE.down;
  const at = new Map();
  layers.forEach((each, y) => each.forEach((node, n) => at.set(node, {
    x: width / 2 + (n - each.length / 2) * (NODE.width + NODE.across) + NODE.across / 2,
    y: NODE.down / 2 + y * (NODE.height + NODE.down),
  })));
  const title = `%${app.trace.names[name]} with what it needs and who uses it, ${plural(nodes.size, "instruction")}`;
  const drawn = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": title,
    class: width < 480 ? "small" : null });
  for (const node of order) {
    for (const operand of new Set(state.operands(state.place(node)))) {
      if (nodes.has(operand)) drawn.append(edge(at.get(operand), at.get(node), node === name || operand === name));
    }
  }
  for (const node of order) drawn.append(box(app, state, node, at.get(node), node === name));
  return el("div", { class: "graph-scroll", tabindex: 0, role: "region", "aria-label": "neighbourhood graph" }, drawn);
}

// The names of all instructions that are so many steps away, in both directions.
function reached(state, name, hops) {
  const found = new Set([name]);
  let edgeOf = [name];
  for (let hop = 0; hop < hops && found.size < MOST_NODES; hop += 1) {
    const next = [];
    for (const each of edgeOf) {
      for (const other of [...state.operands(state.place(each)), ...state.usersOf(each)]) {
        if (found.has(other) || found.size >= MOST_NODES || state.place(other) < 0) continue;
        found.add(other);
        next.push(other);
      }
    }
    edgeOf = next;
  }
  return found;
}

function edge(from, to, isLit) {
  const x0 = from.x + NODE.width / 2, y0 = from.y + NODE.height, x1 = to.x + NODE.width / 2, y1 = to.y;
  const bend = Math.max(14, (y1 - y0) / 2);
  return svg("path", { d: `M${x0} ${y0}C${x0} ${y0 + bend} ${x1} ${y1 - bend} ${x1} ${y1}`, class: isLit ? "edge lit" : "edge" });
}

function box(app, state, node, { x, y }, isChosen) {
  const { trace } = app, row = state.rows[state.place(node)];
  const [opcode, , family] = trace.opcodes[trace.rows.opcode[row]];
  const text = (words, dy, kind) => svg("text", { x: x + NODE.width / 2, y: y + dy, class: kind }, clipped(words, kind === "small" ? 20 : 18));
  return svg("g", { class: isChosen ? "node chosen" : "node", "data-name": node },
    svg("title", {}, trace.textOf(row).trim()),
    svg("rect", { x, y, width: NODE.width, height: NODE.height, rx: 5, class: `family-${family}` }),
    text("%" + trace.names[node], 14, "label"),
    text(`${opcode} ${trace.shapes[trace.rows.shape[row]][0]}`, 27, "small"));
}

function clipped(text, most) {
  return text.length <= most ? text : text.slice(0, most - 1) + "…";
}
