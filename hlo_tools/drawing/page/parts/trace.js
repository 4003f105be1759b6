// The trace: unpacked, and the rows of the module at any place of it.

const INSTRUCTION = 0, ROOT = 1, HEAD = 2, ENTRY = 3, END = 4;

// The JSON in an element: compressed by gzip, spelled in base64.
async function unpack(element) {
  const bytes = Uint8Array.from(atob(element.textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

class Trace {
  constructor(data) {
    Object.assign(this, data);
    this.rows.operands = spelledOut(data.rows.operands);
    this.nameNumber = new Map(data.names.map((name, number) => [name, number]));
    this.shardsOf = new Map((data.shards || []).map(([row, ...grid]) => [row, grid]));
    this.changing = [];
    this.starts = [];
    let state = data.start, done = 0;
    data.passes.forEach((pass, number) => {
      pass.number = number;
      pass.name = pass.path[pass.path.length - 1];
      pass.steps = pass.steps || [];
      pass.doneBefore = done;
      this.starts.push(state);
      if (pass.steps.length) {
        this.changing.push(number);
        state = applied(state, pass.steps);
        done += pass.steps.length;
      }
    });
    this.starts.push(state);
    this.total = done;
    this.cache = [];
  }

  // The rows after so many steps of a pass.
  rowsAt(pass, step) {
    const steps = this.passes[pass].steps;
    if (step <= 0) return this.starts[pass];
    if (step >= steps.length) return this.starts[pass + 1];
    const near = this.cache.filter((each) => each.pass === pass && each.step <= step);
    const from = near.reduce((one, other) => (other.step > one.step ? other : one), { step: 0, rows: this.starts[pass] });
    if (from.step === step) return from.rows;
    const found = { pass, step, rows: applied(from.rows, steps.slice(from.step, step)) };
    this.cache = [...this.cache.slice(-5), found];
    return found.rows;
  }

  isInstruction(row) {
    return this.rows.kind[row] <= ROOT;
  }

  nameOf(row) {
    return this.names[this.rows.name[row]];
  }

  textOf(row) {
    const kind = this.rows.kind[row], name = "%" + this.nameOf(row);
    if (kind === END) return "}";
    if (kind === HEAD || kind === ENTRY) return (kind === ENTRY ? "ENTRY " : "") + name + " {";
    const shape = this.shapes[this.rows.shape[row]][0];
    return `  ${kind === ROOT ? "ROOT " : ""}${name} = ${shape} ${this.restOf(row)}`;
  }

  // The opcode, the operands and the attributes.
  restOf(row) {
    const rest = this.rests[this.rows.rest[row]], operands = this.rows.operands[row];
    if (!operands.length) return rest;
    const words = operands.map((name, i) => `${i && i % 5 === 0 ? `/*index=${i}*/` : ""}%${this.names[name]}`);
    return rest.replace("(", () => `(${words.join(", ")}`);
  }

  // A row's text without layouts, and without what is inside of long attributes.
  shortOf(row) {
    this.shorts = this.shorts || [];
    if (this.shorts[row] === undefined) this.shorts[row] = this.isInstruction(row) ? shortened(this.textOf(row)) : this.textOf(row);
    return this.shorts[row];
  }

  // The user's line of a row: the operation's name, the place, and the text of the line, if known.
  sourceOf(row) {
    return this.sources[this.rows.source[row]] || [""];
  }

  // The value of a row's instruction in the module before a pass (pass = 0, 1, ...); "" if unknown.
  valueOf(row, pass) {
    let found = "", place = 0;
    for (let number = 0; number < this.values.length; number += 1) {
      if (number > 0) {
        while (place < this.changing.length && place + 1 < number) place += 1;
        if (this.changing[number - 1] >= pass) break;
      }
      const text = this.valueTables()[number].get(row);
      if (text !== undefined) found = this.texts[text];
    }
    return found;
  }

  valueTables() {
    if (!this.tables) {
      this.tables = this.values.map((list) => {
        const table = new Map();
        for (let i = 0; i < list.length; i += 2) table.set(list[i], list[i + 1]);
        return table;
      });
    }
    return this.tables;
  }

  // The steps that made or changed the line of a name, as [pass, step] from the first to the last.
  stepsOf(name) {
    if (!this.made) {
      this.made = new Map();
      for (const number of this.changing) {
        this.passes[number].steps.forEach((step, i) => {
          for (const [, , came] of step.edits) {
            for (const row of came) {
              if (!this.isInstruction(row)) continue;
              const key = this.rows.name[row];
              if (!this.made.has(key)) this.made.set(key, []);
              this.made.get(key).push([number, i + 1]);
            }
          }
        });
      }
    }
    return this.made.get(name) || [];
  }
}

const LAYOUT = /(?<=\]|\))\{[\d,]*(?::[^{}]*)?\}/g, LONG = ["metadata=", "backend_config=", "frontend_attributes="];

// A text without layouts, and with `{…}` in place of attributes that few look at.
function shortened(text) {
  let found = text.replace(LAYOUT, "");
  for (const key of LONG) {
    const at = found.indexOf(`, ${key}{`);
    if (at < 0) continue;
    const start = at + 2 + key.length;
    let depth = 0, end = start, isQuoted = false;
    for (; end < found.length; end += 1) {
      const letter = found[end];
      if (letter === "\\") end += 1;
      else if (letter === '"') isQuoted = !isQuoted;
      else if (!isQuoted && letter === "{") depth += 1;
      else if (!isQuoted && letter === "}" && (depth -= 1) === 0) break;
    }
    found = `${found.slice(0, start)}{…}${found.slice(end + 1)}`;
  }
  return found;
}

// The operands of each row, of which the trace tells some as changes of an earlier row's.
function spelledOut(operands) {
  operands.forEach((own, row) => {
    if (Array.isArray(own)) return;
    const made = operands[own.as].slice();
    for (let i = 0; i < own.but.length; i += 2) made[own.but[i]] = own.but[i + 1];
    operands[row] = made;
  });
  return operands;
}

// Rows after the edits of some steps.
function applied(rows, steps) {
  const made = rows.slice();
  for (const step of steps) {
    for (const [place, count, came] of step.edits) made.splice(place, count, ...came);
  }
  return made;
}

// An index of some rows: where each name is, its computation, and who uses it.
class State {
  constructor(trace, rows) {
    this.trace = trace;
    this.rows = rows;
    this.places = new Int32Array(trace.names.length).fill(-1); // by the number of a name
    this.heads = new Int32Array(rows.length);
    const { kind, name } = trace.rows;
    for (let i = 0, head = 0; i < rows.length; i += 1) {
      const row = rows[i];
      if (kind[row] === HEAD || kind[row] === ENTRY) head = i;
      else if (kind[row] !== END) this.places[name[row]] = i;
      this.heads[i] = head;
    }
  }

  // The place of a name's instruction; -1 if there is none.
  place(name) {
    return name === null ? -1 : this.places[name];
  }

  operands(place) {
    return this.trace.rows.operands[this.rows[place]] || [];
  }

  // The names of the instructions that use each one.
  usersOf(name) {
    if (!this.users) {
      this.users = new Map();
      this.rows.forEach((row, place) => {
        if (!this.trace.isInstruction(row)) return;
        for (const operand of new Set(this.operands(place))) {
          if (!this.users.has(operand)) this.users.set(operand, []);
          this.users.get(operand).push(this.trace.rows.name[row]);
        }
      });
    }
    return this.users.get(name) || [];
  }
}
