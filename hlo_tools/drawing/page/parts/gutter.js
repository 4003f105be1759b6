// The gutter of operands, as in `git log --graph`: a lane from each value down to its last user.

const MOST_LANES = 13, LANE = 6;

class Gutter {
  constructor(state) {
    const { rows, trace } = state, count = rows.length;
    this.state = state;
    this.dot = new Int8Array(count).fill(-1);
    this.after = new Uint16Array(count);
    this.uses = new Uint16Array(count);
    const { kind, name, operands } = trace.rows;
    const lastUse = new Int32Array(trace.names.length).fill(-1);
    for (let i = 0; i < count; i += 1) {
      if (kind[rows[i]] <= ROOT) for (const operand of operands[rows[i]]) lastUse[operand] = i;
    }
    this.lanes = new Map(); // by the place where a computation begins
    const laneOf = new Int8Array(trace.names.length).fill(-1);
    let alive = 0, most = 0;
    for (let i = 0; i < count; i += 1) {
      if (kind[rows[i]] > ROOT) {
        if (kind[rows[i]] === END) this.lanes.set(state.heads[i], most);
        alive = most = 0;
        continue;
      }
      for (const operand of operands[rows[i]]) {
        const lane = laneOf[operand];
        if (lane < 0) continue;
        this.uses[i] |= 1 << lane;
        if (lastUse[operand] === i) alive &= ~(1 << lane);
      }
      let lane = 0;
      while (lane < MOST_LANES && alive & (1 << lane)) lane += 1;
      const own = name[rows[i]];
      this.dot[i] = Math.min(lane, MOST_LANES - 1);
      if (lastUse[own] > i && lane < MOST_LANES) {
        alive |= 1 << lane;
        laneOf[own] = lane;
      }
      most = Math.max(most, this.dot[i] + 1);
      this.after[i] = alive;
    }
  }

  // How many lanes the computation of a place has.
  lanesAt(place) {
    return this.lanes.get(this.state.heads[place]) || 0;
  }

  // The drawing of one place; lanes that run through it only, where it is folded away.
  draw(place, height, { isFold = false, isLit = false } = {}) {
    const lanes = this.lanesAt(place);
    const x = (lane) => LANE * (lane + 1) - LANE / 2;
    const before = place > 0 ? this.after[place - 1] : 0;
    const after = isFold ? before : this.after[place], uses = isFold ? 0 : this.uses[place];
    const dot = isFold ? -1 : this.dot[place], middle = 10; // in the first line of a wrapped one
    let path = "";
    for (let lane = 0; lane < lanes; lane += 1) {
      const bit = 1 << lane, isNew = lane === dot && !(before & bit && !(uses & bit));
      const up = before & bit, down = after & bit;
      if (up && down && !(isNew && uses & bit)) path += `M${x(lane)} 0V${height}`;
      else if (up) path += `M${x(lane)} 0V${middle}`;
      if (down && (!up || (isNew && uses & bit))) path += `M${x(lane)} ${middle}V${height}`;
      if (uses & bit && lane !== dot) path += `M${x(lane)} ${middle - 5}Q${x(lane)} ${middle} ${x(dot)} ${middle}`;
    }
    const drawn = svg("svg", { class: "gutter", width: (lanes + 1) * LANE, height, "aria-hidden": "true" });
    drawn.append(svg("path", { d: path, class: "lane" }));
    if (dot >= 0) drawn.append(svg("circle", { cx: x(dot), cy: middle, r: isLit ? 4.5 : 3, class: isLit ? "dot lit" : "dot" }));
    return drawn;
  }
}
