// Two lists of rows side by side: which rows stay, which went, which came in their place.

const SAME = 0, CHANGED = 1;

// What must be exchanged to make one list of another: [from, to, from, to], in order. Elements occur
// once, so that what is kept is the longest increasing subsequence of their places.
function differences(before, after) {
  let start = 0;
  const shorter = Math.min(before.length, after.length);
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before[before.length - 1 - end] === after[after.length - 1 - end]) {
    end += 1;
  }
  const places = new Map();
  for (let i = start; i < after.length - end; i += 1) places.set(after[i], i);
  const common = [];
  for (let i = start; i < before.length - end; i += 1) {
    if (places.has(before[i])) common.push([i, places.get(before[i])]);
  }
  const kept = [[start - 1, start - 1], ...longestIncreasing(common)];
  kept.push([before.length - end, after.length - end]);
  const found = [];
  for (let n = 1; n < kept.length; n += 1) {
    const [i, j] = kept[n - 1], [k, m] = kept[n];
    if (k !== i + 1 || m !== j + 1) found.push([i + 1, k, j + 1, m]);
  }
  return found;
}

function longestIncreasing(pairs) {
  const ends = [], last = [], previous = [];
  pairs.forEach(([, place], number) => {
    let low = 0, high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle] < place) low = middle + 1;
      else high = middle;
    }
    previous.push(low ? last[low - 1] : -1);
    ends[low] = place;
    last[low] = number;
  });
  const found = [];
  for (let n = last.length ? last[last.length - 1] : -1; n >= 0; n = previous[n]) found.push(pairs[n]);
  return found.reverse();
}

// Places in both lists, a pair a line: -1 where a side has nothing; and whether the line changed.
function aligned(before, after, edits, keyOf) {
  const lines = [];
  let i = 0, j = 0;
  for (const [i0, i1, j0, j1] of edits) {
    while (i < i0) lines.push([i++, j++, SAME]);
    const gone = [], came = [], coming = new Map();
    for (let n = j0; n < j1; n += 1) coming.set(keyOf(after[n]), n);
    for (; i < i1; i += 1) {
      const twin = coming.get(keyOf(before[i]));
      if (twin === undefined || twin < j) {
        gone.push(i);
        continue;
      }
      while (j < twin) came.push(j++);
      flush(lines, gone, came);
      lines.push([i, j++, CHANGED]);
    }
    while (j < j1) came.push(j++);
    flush(lines, gone, came);
  }
  while (i < before.length) lines.push([i++, j++, SAME]);
  return lines;
}

function flush(lines, gone, came) {
  for (let n = 0; n < Math.max(gone.length, came.length); n += 1) {
    lines.push([n < gone.length ? gone[n] : -1, n < came.length ? came[n] : -1, CHANGED]);
  }
  gone.length = came.length = 0;
}

// Lines with their long unchanged runs folded: a number of hidden lines stands for a run.
const CONTEXT = 3, LEAST_FOLD = 4;
function folded(lines, opened, isHead) {
  const shown = [];
  let n = 0;
  const anyChange = lines.some((line) => line[2] === CHANGED);
  while (n < lines.length) {
    if (lines[n][2] === CHANGED || !anyChange) {
      shown.push({ line: lines[n] });
      n += 1;
      continue;
    }
    let end = n;
    while (end < lines.length && lines[end][2] === SAME) end += 1;
    const first = n === 0 ? 0 : n + CONTEXT;
    const last = end === lines.length ? end : end - CONTEXT;
    const isOpen = opened.has(n) || last - first < LEAST_FOLD;
    for (let k = n; k < end; k += 1) {
      if (isOpen || k < first || k >= last || isHead(lines[k])) shown.push({ line: lines[k] });
      else {
        const from = k;
        while (k + 1 < last && !isHead(lines[k + 1])) k += 1;
        shown.push({ fold: n, count: k - from + 1, line: lines[from] });
      }
    }
    n = end;
  }
  return shown;
}
