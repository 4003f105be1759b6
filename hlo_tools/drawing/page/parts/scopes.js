// The instructions of a module as a tree: a computation, the scopes of the user's program in it
// (the parts of `op_name`), instructions, and the computations that these run.

const RUNS = new Set(["fusion", "call", "while", "conditional", "async-start"]);
// So many parts of one scope are shown side by side; of more, runs are folded.
const MOST_PARTS = 48, MOST_PARAMETERS = 6;

// A part of the tree. `name` is that of an instruction; other parts are scopes.
class Part {
  constructor(key, title, name = null) {
    Object.assign(this, { key, title, name, parts: [], parent: null, edges: new Map(), count: name === null ? 0 : 1, labels: [], index: 0 });
  }

  add(part) {
    part.parent = this;
    part.index = this.parts.length;
    this.parts.push(part);
  }

  get isScope() {
    return this.parts.length > 0;
  }
}

class ScopeTree {
  constructor(trace, state) {
    Object.assign(this, { trace, state, partOf: new Map() });
    this.heads = new Map(); // the name of a computation -> the place of its first line
    let entry = 0;
    state.rows.forEach((row, place) => {
      const kind = trace.rows.kind[row];
      if (kind === HEAD || kind === ENTRY) this.heads.set(trace.rows.name[row], place);
      if (kind === ENTRY) entry = place;
    });
    this.root = this.computation(entry, "");
    this.connect();
  }

  opcode(place) {
    return this.trace.opcodes[this.trace.rows.opcode[this.state.rows[place]]][0];
  }

  // The number that an instruction is at every place; "" if it is no such constant.
  constantOf(name) {
    const place = this.state.place(name);
    if (place < 0) return "";
    const row = this.state.rows[place], opcode = this.opcode(place);
    if (this.trace.rows.kind[row] === ROOT) return "";
    if (opcode === "broadcast") return this.constantOf(this.state.operands(place)[0]);
    if (opcode !== "constant") return "";
    const found = /^constant\(([^{}()]*)\)/.exec(this.trace.rests[this.trace.rows.rest[row]]);
    return found && found[1].length < 24 ? found[1] : "";
  }

  // The tree of one computation, whose first line is at a place.
  computation(head, key) {
    const { trace, state } = this, places = [];
    for (let n = head + 1; n < state.rows.length && trace.rows.kind[state.rows[n]] !== END; n += 1) places.push(n);
    const paths = this.paths(places), shared = prefix([...paths.values()].filter((path) => path.length));
    const made = new Part(`${key}%${trace.nameOf(state.rows[head])}`, "%" + trace.nameOf(state.rows[head]));
    const scopes = new Map([["", made]]);
    const scope = (path) => {
      const words = path.join("/");
      if (!scopes.has(words)) {
        const each = new Part(`${made.key}/${words}`, path[path.length - 1]);
        scopes.set(words, each);
        scope(path.slice(0, -1)).add(each);
      }
      return scopes.get(words);
    };
    for (const place of places) {
      const name = trace.rows.name[state.rows[place]];
      if (this.constantOf(name)) continue;
      const part = new Part(`${made.key}:${trace.names[name]}`, this.opcode(place), name);
      part.labels = state.operands(place).map((operand) => this.constantOf(operand)).filter(Boolean);
      this.partOf.set(name, part);
      scope(paths.get(place).slice(shared)).add(part);
      if (!RUNS.has(part.title)) continue;
      for (const called of trace.rows.called[state.rows[place]]) {
        if (this.heads.has(called)) part.add(this.computation(this.heads.get(called), `${part.key}>`));
      }
    }
    return settled(made);
  }

  // The scope of each place. What has none gets the one that its users share.
  paths(places) {
    const { trace, state } = this, found = new Map(), byName = new Map();
    for (const place of [...places].reverse()) {
      const [operation] = trace.sourceOf(state.rows[place]), name = trace.rows.name[state.rows[place]];
      let path = operation ? operation.split("/").slice(0, -1) : [];
      const users = state.usersOf(name).map((user) => byName.get(user)).filter(Boolean);
      if (!operation && this.opcode(place) !== "parameter" && users.length) path = users[0].slice(0, prefix(users));
      found.set(place, path);
      byName.set(name, path);
    }
    return found;
  }

  // Edges, each between two parts of the same scope that hold its ends.
  connect() {
    for (const [name, part] of this.partOf) {
      for (const operand of new Set(this.state.operands(this.state.place(name)))) {
        const other = this.partOf.get(operand);
        if (!other) continue;
        const [from, to] = siblings(other, part);
        if (!from || from === to) continue;
        const key = `${from.index},${to.index}`, { edges } = from.parent;
        edges.set(key, (edges.get(key) || 0) + 1);
      }
    }
  }
}

// The parts of one scope that hold two parts.
function siblings(one, other) {
  const above = new Map();
  for (let part = one; part.parent; part = part.parent) above.set(part.parent, part);
  for (let part = other; part.parent; part = part.parent) {
    if (above.has(part.parent)) return [above.get(part.parent), part];
  }
  return [null, null];
}

// How many first elements all paths share.
function prefix(paths) {
  let length = paths.length ? Math.min(...paths.map((path) => path.length)) : 0;
  for (const path of paths) {
    let n = 0;
    while (n < length && path[n] === paths[0][n]) n += 1;
    length = n;
  }
  return length;
}

// A scope with counts; scopes of one part are that part, and long ones are folded into runs.
function settled(scope) {
  const parts = scope.parts.map((part) => (part.name === null ? settled(part) : part));
  scope.parts = [];
  for (const group of grouped(parts)) {
    if (group.length === 1) scope.add(unwrapped(group[0]));
    else {
      const title = group.every((part) => part.title === "parameter") ? "parameters" : `${titleOf(group[0])} … ${titleOf(group[group.length - 1])}`;
      const run = new Part(`${scope.key}/${group[0].key}…`, title);
      group.forEach((part) => run.add(unwrapped(part)));
      scope.add(run);
    }
  }
  const count = (part) => part.parts.reduce((sum, each) => sum + each.count, part.name === null ? 0 : 1);
  for (const part of scope.parts) part.count = count(part);
  scope.count = count(scope);
  return scope;
}

// Parts that are shown as one: many parameters, and, of very many parts, instructions in a row.
function grouped(parts) {
  const isParameter = (part) => part.name !== null && part.title === "parameter", parameters = parts.filter(isParameter);
  let groups = parts.map((part) => [part]);
  if (parameters.length > MOST_PARAMETERS) groups = [parameters, ...groups.filter(([part]) => !isParameter(part))];
  for (const isOne of [(group) => group.length === 1 && !group[0].isScope, () => true]) {
    if (groups.length <= MOST_PARTS) return groups;
    const size = Math.max(8, Math.ceil(Math.sqrt(groups.length))), made = [];
    let run = [];
    const flushRun = () => { if (run.length) made.push(run.flat()); run = []; };
    for (const group of groups) {
      if (!isOne(group)) { flushRun(); made.push(group); continue; }
      run.push(group);
      if (run.length === size) flushRun();
    }
    flushRun();
    groups = made;
  }
  return groups;
}

function unwrapped(part) {
  const only = part.parts[0];
  if (part.name !== null || part.parts.length !== 1) return part;
  if (only.isScope && only.name === null) only.title = `${part.title}/${only.title}`;
  return only;
}

function titleOf(part) {
  return part.name === null ? part.title : part.key.split(":").pop();
}
