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

const GROUPED = new Intl.NumberFormat("en");

function plural(count, noun) {
  return `${GROUPED.format(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) [count, unit] = [count / 1024, unit + 1];
  return `${unit ? count.toPrecision(3) : count} ${units[unit]}`;
}

// Lines of a list that are printed at most.
const MOST_PRINTED = 2000;

// The width of a letter of the lists, in pixels.
function letterWidth() {
  if (!letterWidth.found) {
    const ruler = el("code", { class: "row", style: "visibility:hidden;min-width:0;border:0" }, el("span", {}, "m".repeat(100)));
    document.body.append(ruler);
    letterWidth.found = ruler.firstChild.getBoundingClientRect().width / 100 || 7.5;
    ruler.remove();
  }
  return letterWidth.found;
}

// A list of which only those lines are in the page that can be seen. To ask the page for a place or
// a size lays out all that has changed in it, so that the list knows its own.
class VirtualList {
  constructor(element, label, makeLine, { height = 20 } = {}) {
    Object.assign(this, { element, makeLine, height, count: 0, first: -1, last: -1, tops: null, top: 0, tall: 0, wide: 0 });
    this.sheet = el("div", { class: "sheet" });
    element.replaceChildren(this.sheet);
    filled(element, { role: "listbox", tabindex: 0, "aria-label": label }, []);
    element.addEventListener("scroll", () => {
      this.top = element.scrollTop;
      this.draw();
    });
    new ResizeObserver(() => this.resized()).observe(element);
    VirtualList.all.push(this);
  }

  // Show so many lines. `width` is of the longest, in letters. Where lines are wrapped, `letters`
  // gives the lists that must have equal heights, and the number of letters of each line there.
  // The line `at`, if there is one, comes into view. To be drawn, after all that has to be laid out.
  fill(count, width, letters = null, at = -1) {
    this.count = count;
    this.letters = letters;
    if (!this.tall || letters) this.look();
    this.measure();
    this.sheet.style.minWidth = width && !letters ? `calc(${width}ch + 8rem)` : "";
    this.element.classList.toggle("wrapped", Boolean(letters));
    this.top = Math.min(this.top, Math.max(0, this.topOf(count) - this.tall));
    if (at >= 0) this.scrollTo(at);
  }

  // Ask the page for the list's size.
  look() {
    [this.tall, this.wide] = [this.element.clientHeight, this.element.clientWidth];
  }

  // How many letters fit into a line beside its mark and its gutter.
  get columns() {
    return Math.max(20, Math.floor((this.wide - 108) / letterWidth()));
  }

  // The top of each line, for lines of different heights.
  measure() {
    this.tops = null;
    if (this.letters) {
      this.tops = new Int32Array(this.count + 1);
      const columns = this.columns;
      for (let n = 0; n < this.count; n += 1) {
        this.tops[n + 1] = this.tops[n] + this.height * Math.max(1, Math.ceil(this.letters(n) / columns));
      }
    }
    this.sheet.style.height = `${this.topOf(this.count)}px`;
  }

  resized() {
    this.look();
    if (this.letters) this.measure();
    this.draw(Boolean(this.letters));
  }

  topOf(n) {
    return this.tops ? this.tops[n] : n * this.height;
  }

  // The number of the line at a height.
  at(y) {
    if (!this.tops) return Math.floor(y / this.height);
    let low = 0, high = this.count;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.tops[middle] <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  // Draw the lines in view, or, to be printed, so many from the first.
  draw(anew = false, printed = 0) {
    const first = printed ? 0 : Math.max(0, this.at(this.top) - 8);
    const last = Math.min(this.count, printed || this.at(this.top + this.tall) + 9);
    if (!anew && first === this.first && last === this.last) return;
    this.first = first;
    this.last = last;
    const lines = [];
    for (let n = first; n < last; n += 1) {
      const line = this.makeLine(n);
      line.style.top = `${this.topOf(n)}px`;
      if (this.tops) line.style.height = `${this.tops[n + 1] - this.tops[n]}px`;
      line.setAttribute("aria-setsize", this.count);
      line.setAttribute("aria-posinset", n + 1);
      lines.push(line);
    }
    this.sheet.replaceChildren(...lines);
  }

  // The height of a line, in pixels.
  heightOf(n) {
    return this.topOf(n + 1) - this.topOf(n);
  }

  // Bring a line into view, unless it is there.
  reveal(n) {
    const at = this.topOf(n);
    if (at >= this.top + this.height && at <= this.top + this.tall - 2 * this.height) return;
    this.scrollTo(n);
    this.draw();
  }

  // Scroll to a line. What is there is laid out for that, so it goes: it is drawn anew anyway.
  scrollTo(n) {
    this.sheet.replaceChildren();
    this.first = this.last = -1;
    this.element.scrollTop = Math.max(0, this.topOf(n) - this.tall / 3);
    this.top = this.element.scrollTop;
  }
}
VirtualList.all = [];

// Lists that scroll together, down and sideways.
function tied(lists) {
  for (const { element } of lists) {
    element.addEventListener("scroll", () => {
      for (const other of lists) {
        if (other.element.scrollTop !== element.scrollTop) other.element.scrollTop = element.scrollTop;
        if (other.element.scrollLeft !== element.scrollLeft) other.element.scrollLeft = element.scrollLeft;
      }
    });
  }
}
