"use strict";
// The editor: sends its text after each change, marks errors, and shows the viewer's page.

const by = (id) => document.getElementById(id);
const text = by("text"), marks = by("marks"), view = by("view"), state = by("state");
const PAUSE = 30; // milliseconds without a key before a text is sent

const EXAMPLES = {
  softmax: `HloModule softmax

max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b)
}

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY main {
  x = f32[4,8] parameter(0)
  low = f32[] constant(-inf)
  highest = f32[4] reduce(x, low), dimensions={1}, to_apply=max
  shift = f32[4,8] broadcast(highest), dimensions={0}
  shifted = f32[4,8] subtract(x, shift)
  e = f32[4,8] exponential(shifted)
  zero = f32[] constant(0)
  total = f32[4] reduce(e, zero), dimensions={1}, to_apply=sum
  totals = f32[4,8] broadcast(total), dimensions={0}
  ROOT y = f32[4,8] divide(e, totals)
}
`,
  stablehlo: `func.func @main(%x: tensor<4x8xf32>, %y: tensor<8x3xf32>) -> tensor<4x3xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = stablehlo.tanh %0 : tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}
`,
  jax: `import jax
import jax.numpy as jnp


def program(x, w):
    return jax.nn.relu(x @ w).sum()


arguments = (jnp.ones((4, 8)), jnp.ones((8, 3)))
`,
};

let runsPython = false, sent = 0, timer = 0;

async function packed(value) {
  const stream = new Blob([JSON.stringify(value)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpacked(word) {
  const letters = atob(word.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

function wanted() {
  return { text: text.value, passes: by("passes").value, target: by("target").value, assembly: by("assembly").checked };
}

async function show() {
  const number = ++sent, began = performance.now(), asked = wanted();
  state.textContent = "…";
  history.replaceState(null, "", "#" + (await packed(asked)));
  let answer;
  try {
    const response = await fetch("show", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...asked, runs_python: runsPython }),
    });
    if (!response.ok) throw new Error(`the server answers ${response.status}`);
    answer = await response.json();
  } catch (error) {
    if (number === sent) state.textContent = `${error.message}: is hlo explore still running?`;
    return;
  }
  if (number !== sent) return; // another text is on its way
  by("asks").hidden = !answer.asks;
  report(answer.problems);
  if (answer.page) {
    // The viewer keeps its place: the address names the pass, the step and the instruction.
    let place = "";
    try { place = view.contentWindow.location.hash; } catch { /* nothing is shown yet */ }
    view.src = answer.page + place;
  }
  state.textContent = answer.problems.length ? "" : `${Math.round(performance.now() - began)} ms`;
  document.body.dataset.shown = number;
}

function report(problems) {
  const value = text.value, list = by("problems");
  marks.replaceChildren();
  list.replaceChildren();
  let at = 0;
  for (const { start, end } of [...problems].sort((a, b) => a.start - b.start)) {
    if (end <= at) continue;
    marks.append(value.slice(at, Math.max(start, at)));
    const mark = document.createElement("mark");
    mark.textContent = value.slice(Math.max(start, at), end);
    marks.append(mark);
    at = end;
  }
  marks.append(value.slice(at) + "\n");
  for (const { message, start, end, code, notes } of problems) {
    const line = value.slice(0, start).split("\n");
    const button = document.createElement("button"), place = document.createElement("span");
    button.type = "button";
    place.className = "place";
    place.textContent = end ? `${line.length}:${line.at(-1).length + 1} ` : "";
    button.append(place, `${code ? `[${code}] ` : ""}${message}`, ...notes.map((note) => `\n   = ${note}`));
    button.addEventListener("click", () => { text.focus(); text.setSelectionRange(start, end); });
    const item = document.createElement("li");
    item.append(button);
    list.append(item);
  }
  scrolled();
}

function scrolled() {
  marks.scrollTop = text.scrollTop;
  marks.scrollLeft = text.scrollLeft;
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(show, PAUSE);
}

text.addEventListener("input", () => { runsPython = true; marks.replaceChildren(); soon(); });
text.addEventListener("scroll", scrolled);
by("passes").addEventListener("input", soon);
by("target").addEventListener("input", soon);
by("assembly").addEventListener("input", soon);
by("agree").addEventListener("click", () => { runsPython = true; show(); });
by("example").addEventListener("change", (event) => {
  if (!(event.target.value in EXAMPLES)) return;
  text.value = EXAMPLES[event.target.value];
  runsPython = true;
  event.target.value = "";
  show();
});
by("link").addEventListener("click", async () => {
  history.replaceState(null, "", "#" + (await packed(wanted())));
  try { await navigator.clipboard.writeText(location.href); state.textContent = "copied"; }
  catch { state.textContent = "the address is the link"; }
});
by("chapter").addEventListener("change", (event) => {
  const course = by("course");
  course.hidden = !event.target.value;
  course.src = event.target.value ? `chapter/${event.target.value}` : "about:blank";
});

// The bar between program and page.
const bar = by("bar"), left = by("left");
const widen = (pixels) => { left.style.width = `${Math.max(120, pixels)}px`; };
bar.addEventListener("pointerdown", (event) => {
  bar.setPointerCapture(event.pointerId);
  document.body.style.pointerEvents = "none";
});
bar.addEventListener("pointermove", (event) => { if (bar.hasPointerCapture(event.pointerId)) widen(event.clientX); });
bar.addEventListener("pointerup", () => { document.body.style.pointerEvents = ""; });
bar.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -24, ArrowRight: 24 }[event.key];
  if (step) { widen(left.offsetWidth + step); event.preventDefault(); }
});

async function begin() {
  for (const name of Object.keys(EXAMPLES)) by("example").append(new Option(name, name));
  for (const name of await (await fetch("chapters")).json()) by("chapter").append(new Option(name.replaceAll("-", " "), name));
  let given = { text: EXAMPLES.softmax };
  if (location.hash.length > 1) {
    try { given = await unpacked(location.hash.slice(1)); }
    catch { state.textContent = "the link is damaged"; }
  }
  text.value = String(given.text ?? "");
  by("passes").value = String(given.passes ?? "");
  by("target").value = given.target === "gpu" ? "gpu" : "cpu";
  by("assembly").checked = given.assembly === true;
  await show();
}
begin();
