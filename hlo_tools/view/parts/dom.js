// Elements of the page. What comes from a trace is only ever set as text, never as markup.

const SVG = new DOMParser().parseFromString("<svg></svg>", "text/html").querySelector("svg").namespaceURI;

function el(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

const byId = (id) => document.getElementById(id);

function show(element, isShown) {
  element.hidden = !isShown;
}

function plural(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) [count, unit] = [count / 1024, unit + 1];
  return `${unit ? count.toPrecision(3) : count} ${units[unit]}`;
}

// Lines of a list that are printed at most.
const MOST_PRINTED = 2000;

// A list of which only those lines are in the page that can be seen.
class VirtualList {
  constructor(element, label, makeLine, { height = 20, onKey = null } = {}) {
    Object.assign(this, { element, makeLine, height, onKey, count: 0, first: -1, last: -1 });
    this.sheet = el("div", { class: "sheet" });
    element.replaceChildren(this.sheet);
    filled(element, { role: "listbox", tabindex: 0, "aria-label": label }, []);
    element.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw(true)).observe(element);
    VirtualList.all.push(this);
  }

  fill(count, width) {
    this.count = count;
    this.sheet.style.height = `${count * this.height}px`;
    this.sheet.style.minWidth = width ? `calc(${width}ch + 8rem)` : "";
    this.draw(true);
  }

  // Draw the lines in view, or, to be printed, so many from the first.
  draw(anew = false, printed = 0) {
    const top = this.element.scrollTop, tall = this.element.clientHeight;
    const first = printed ? 0 : Math.max(0, Math.floor(top / this.height) - 8);
    const last = Math.min(this.count, printed || Math.ceil((top + tall) / this.height) + 8);
    if (!anew && first === this.first && last === this.last) return;
    this.first = first;
    this.last = last;
    const lines = [];
    for (let n = first; n < last; n += 1) {
      const line = this.makeLine(n);
      line.style.top = `${n * this.height}px`;
      line.setAttribute("aria-setsize", this.count);
      line.setAttribute("aria-posinset", n + 1);
      lines.push(line);
    }
    this.sheet.replaceChildren(...lines);
  }

  // Bring a line into view, unless it is there.
  reveal(n, always = false) {
    const top = this.element.scrollTop, tall = this.element.clientHeight, at = n * this.height;
    if (always || at < top + this.height || at > top + tall - 2 * this.height) {
      this.element.scrollTop = Math.max(0, at - tall / 3);
    }
  }
}
VirtualList.all = [];
