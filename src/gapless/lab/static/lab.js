// The lab's page: draws what the server answers. No mathematics stands here: places are mapped to pixels, and that is all.
const SVG = "http://www.w3.org/2000/svg";
const REST = matchMedia("(prefers-reduced-motion: reduce)");
let counter = 0;

function node(name, attributes = {}, ...children) {
  const it = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) it.addEventListener(key.slice(2), value);
    else if (value === true) it.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) it.setAttribute(key, value);
  }
  it.append(...children);
  return it;
}

function shape(name, attributes = {}) {
  const it = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) it.setAttribute(key, value);
  return it;
}

// -- pictures

const raised = (e) => [..."" + e].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[+c])).join("");

function number(v) {
  if (v === null) return "not defined";
  if (v === 0 || (Math.abs(v) < 1e5 && Math.abs(v) >= 1e-3)) return String(+v.toPrecision(3)).replace("-", "−");
  const [digits, power] = v.toExponential(0).split("e");
  return `${digits.replace("-", "−")}·10${raised(+power)}`;
}

function scale([low, high], from, to, log) {
  const f = log ? (v) => Math.log10(Math.max(v, 1e-300)) : (v) => v;
  const a = f(low), width = f(high) - a || 1;
  const place = (v) => from + ((f(v) - a) / width) * (to - from);
  place.invert = (p) => { const v = a + ((p - from) / (to - from)) * width; return log ? 10 ** v : v; };
  return place;
}

function ticks([low, high], log, wanted) {
  const found = [];
  if (log) {
    const first = Math.ceil(Math.log10(low)), last = Math.floor(Math.log10(high)), by = Math.max(1, Math.ceil((last - first) / wanted));
    for (let e = first; e <= last; e += by) found.push([10 ** e, `10${raised(e)}`]);
    return found;
  }
  const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough));
  const by = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? rough;
  for (let v = Math.ceil(low / by) * by; v <= high + 1e-9 * by; v += by) found.push([v, number(Math.abs(v) < 1e-12 ? 0 : +v.toPrecision(12))]);
  return found;
}

function path(xy, x, y) {
  let text = "", pen = false;
  for (const [a, b] of xy) {
    if (a === null || b === null) { pen = false; continue; }
    text += `${pen ? "L" : "M"}${x(a).toFixed(2)},${y(b).toFixed(2)}`;
    pen = true;
  }
  return text;
}

const mixed = new Map();
function surface(layer, root) {
  const style = getComputedStyle(root);
  const colour = (name) => {
    const text = style.getPropertyValue(name).trim();
    if (!mixed.has(text)) {
      const canvas = document.createElement("canvas");
      canvas.width = canvas.height = 1;
      const pen = canvas.getContext("2d", { willReadFrequently: true });
      pen.fillStyle = text;
      pen.fillRect(0, 0, 1, 1);
      mixed.set(text, [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3));
    }
    return mixed.get(text);
  };
  const card = colour("--card"), plus = colour("--plus"), minus = colour("--minus");
  const bytes = Uint8Array.from(atob(layer.data), (c) => c.charCodeAt(0));
  const canvas = document.createElement("canvas");
  canvas.width = layer.columns;
  canvas.height = layer.rows;
  const pen = canvas.getContext("2d"), picture = pen.createImageData(layer.columns, layer.rows);
  for (let r = 0; r < layer.rows; r++)
    for (let c = 0; c < layer.columns; c++) {
      const v = ((bytes[r * layer.columns + c] << 24) >> 24) / 127, to = v > 0 ? plus : minus, share = 0.45 * Math.abs(v);
      const at = 4 * ((layer.rows - 1 - r) * layer.columns + c);
      for (let k = 0; k < 3; k++) picture.data[at + k] = card[k] + share * (to[k] - card[k]);
      picture.data[at + 3] = 255;
    }
  pen.putImageData(picture, 0, 0);
  return canvas.toDataURL();
}

class Picture {
  // One panel. The main one is square, without axes unless it names them, and its points can be dragged.
  constructor(lab, main, small = false) {
    this.lab = lab;
    this.main = main;
    this.small = small;
    [this.width, this.height] = small ? [640, 474] : main ? [640, 640] : [340, 186];
    this.svg = shape("svg", { viewBox: `0 0 ${this.width} ${this.height}`, class: main ? "plane" : "side" });
    this.under = shape("g");
    this.over = shape("g", { class: "held" });
    this.clip = `gapless-clip-${++counter}`;
    const clip = shape("clipPath", { id: this.clip });
    this.hole = shape("rect");
    clip.append(this.hole);
    this.inside = shape("g", { "clip-path": `url(#${this.clip})` });
    this.inside.append(this.under, this.over);
    this.frame = shape("g", { class: "axes" });
    this.svg.append(clip, this.frame, this.inside);
    this.title = node("figcaption");
    this.legend = node("ul", { class: "legend" });
    this.figure = node("figure", { class: main ? "main" : "side" }, this.title, this.svg, this.legend);
    this.dots = [];
  }

  draw(panel) {
    this.panel = panel;
    const axes = !this.main || panel.x_label || panel.y_label;
    const room = this.small ? [2, 2, 2, 2] : axes ? [this.main ? 56 : 46, 10, 12, this.main ? 48 : 36] : [1, 1, 1, 1];
    const [left, top, right, bottom] = [room[0], room[1], this.width - room[2], this.height - room[3]];
    this.x = scale(panel.x, left, right, panel.x_log);
    this.y = scale(panel.y, bottom, top, panel.y_log);
    for (const [key, value] of Object.entries({ x: left, y: top, width: right - left, height: bottom - top })) this.hole.setAttribute(key, value);
    this.title.textContent = panel.title;
    this.frame.replaceChildren(...(axes && !this.small ? this.axes(panel, left, top, right, bottom) : []));
    const drawn = [], named = [];
    let held = null;
    for (const layer of panel.layers) {
      if (layer.name) named.push(layer);
      if (layer.kind === "points" && layer.drag) held = layer;
      else drawn.push(...this.marks(layer));
    }
    this.under.replaceChildren(...drawn);
    this.hold(held);
    this.legend.replaceChildren(...named.filter((l) => l.kind !== "image").map((l) => node("li", {}, node("span", { class: `swatch ${l.kind} ${typeof l.tone === "string" ? l.tone : "ink"} ${l.look ?? ""}` }), l.name)));
  }

  axes(panel, left, top, right, bottom) {
    const found = [shape("rect", { x: left, y: top, width: right - left, height: bottom - top, class: "box" })];
    for (const [v, text] of panel.x_ticks ? ticks(panel.x, panel.x_log, this.main ? 8 : 5) : []) {
      const at = shape("text", { x: this.x(v), y: bottom + (this.main ? 20 : 14), class: "tick", "text-anchor": "middle" });
      at.textContent = text;
      found.push(shape("path", { d: `M${this.x(v)},${bottom}V${top}`, class: "grid" }), at);
    }
    for (const [v, text] of ticks(panel.y, panel.y_log, this.main ? 8 : 4)) {
      const at = shape("text", { x: left - 6, y: this.y(v) + 4, class: "tick", "text-anchor": "end" });
      at.textContent = text;
      found.push(shape("path", { d: `M${left},${this.y(v)}H${right}`, class: "grid" }), at);
    }
    if (panel.x_label) {
      const label = shape("text", { x: (left + right) / 2, y: this.height - 6, class: "label", "text-anchor": "middle" });
      label.textContent = panel.x_label;
      found.push(label);
    }
    if (panel.y_label) {
      const label = shape("text", { x: this.main ? 14 : left + 5, y: top + 12, class: "label" });
      label.textContent = panel.y_label;
      found.push(label);
    }
    return found;
  }

  marks(layer) {
    const { x, y } = this;
    if (layer.kind === "line") return [shape("path", { d: path(layer.xy, x, y), class: `line ${layer.tone} ${layer.look}` })];
    if (layer.kind === "area") return [shape("path", { d: `${path(layer.xy, x, y)}Z`, class: `area ${layer.tone}` })];
    if (layer.kind === "text") {
      const it = shape("text", { x: x(layer.x), y: y(layer.y), class: `note ${layer.tone}`, "text-anchor": layer.anchor });
      it.textContent = layer.text;
      return [it];
    }
    if (layer.kind === "bars")
      return layer.heights.map((h, i) => shape("rect", { x: x(layer.edges[i]) + 0.5, y: y(h), width: Math.max(0.5, x(layer.edges[i + 1]) - x(layer.edges[i]) - 1), height: Math.max(0, y(0) - y(h)), class: `bar ${layer.tone}` }));
    if (layer.kind === "image") {
      const it = shape("image", { x: x(layer.x[0]), y: y(layer.y[1]), width: x(layer.x[1]) - x(layer.x[0]), height: y(layer.y[0]) - y(layer.y[1]), preserveAspectRatio: "none" });
      if (!layer.smooth) it.setAttribute("class", "crisp");
      it.setAttribute("href", surface(layer, this.lab.root));
      return [it];
    }
    const each = (what, i) => (Array.isArray(what) ? what[i] : what);
    return layer.xy.map(([a, b], i) => shape("circle", { cx: x(a), cy: y(b), r: (this.small ? 11 : this.main ? 6.2 : 4) * each(layer.size, i), class: `dot ${each(layer.tone, i)} ${each(layer.look, i)}` }));
  }

  hold(layer) {
    // The points of the state: kept between drawings, so that a focus or a finger stays on them.
    const count = layer ? layer.xy.length : 0;
    while (this.dots.length > count) this.dots.pop().remove();
    while (this.dots.length < count) {
      const dot = shape("circle");
      dot.dataset.i = this.dots.length;
      this.over.append(dot);
      this.dots.push(dot);
    }
    this.over.querySelectorAll(".ring").forEach((ring) => ring.remove());
    if (!layer) return;
    const each = (what, i) => (Array.isArray(what) ? what[i] : what);
    const live = this.main && !this.small && this.lab.scene?.points, crowd = Math.min(1, (250 / count) ** 0.4); // many points are small ones
    layer.xy.forEach(([a, b], i) => {
      const dot = this.dots[i], moved = this.lab.held === i && this.lab.state.points[i];
      const where = moved && this.lab.scene.points !== "handles" ? moved : [a, b];
      const set = { cx: this.x(where[0] ?? 0), cy: this.y(where[1] ?? 0), r: (this.small ? 12 : 7) * crowd * each(layer.size, i), class: `dot ${each(layer.tone, i)} ${each(layer.look, i)}` };
      if (live) Object.assign(set, { role: "button", tabindex: i === this.lab.focused ? 0 : -1, "aria-label": `point ${i + 1} of ${count}: ${number(a)}, ${number(b)}${this.lab.scene.points === "classes" ? `, class ${this.lab.state.points[i]?.[2] > 0 ? "plus" : "minus"}` : ""}` });
      for (const [key, value] of Object.entries(set)) dot.setAttribute(key, value);
    });
    for (const i of layer.ring ?? []) {
      const [a, b] = layer.xy[i] ?? [null, null];
      if (a !== null) this.over.prepend(shape("circle", { cx: this.x(a), cy: this.y(b), r: 13, class: "ring" }));
    }
  }

  at(event) {
    const box = this.svg.getBoundingClientRect(), unit = Math.min(box.width / this.width, box.height / this.height);
    const px = (event.clientX - box.left - (box.width - unit * this.width) / 2) / unit, py = (event.clientY - box.top - (box.height - unit * this.height) / 2) / unit;
    const fit = (v) => Math.round(1000 * Math.max(-4, Math.min(4, v))) / 1000;
    return [fit(this.x.invert(px)), fit(this.y.invert(py))];
  }
}

// -- controls

class Knob {
  constructor(lab, control) {
    this.lab = lab;
    this.control = control;
    const id = `gapless-${control.name}-${++counter}`;
    this.box = node("div", { class: `knob ${control.kind}` });
    if (control.kind === "slider") this.slider(id);
    if (control.kind === "choice") {
      this.input = node("select", { id, "data-testid": `control-${control.name}`, onchange: () => this.tell(this.input.value) }, ...control.options.map(([word, label]) => node("option", { value: word }, label)));
      this.box.append(node("label", { for: id }, control.label), this.input);
    }
    if (control.kind === "switch") {
      this.input = node("input", { id, type: "checkbox", "data-testid": `control-${control.name}`, onchange: () => this.tell(this.input.checked) });
      this.box.append(node("label", { for: id }, this.input, ` ${control.label}`));
    }
    if (control.kind === "words") {
      this.input = node("input", { id, type: "text", maxlength: control.most, spellcheck: "false", autocomplete: "off", "data-testid": `control-${control.name}`, oninput: () => this.tell(this.input.value) });
      this.box.append(node("label", { for: id }, control.label), this.input);
    }
  }

  slider(id) {
    const c = this.control;
    [this.low, this.high] = [c.low, c.high];
    this.shown = node("output", { for: id });
    this.input = node("input", { id, type: "range", "data-testid": `control-${c.name}`, oninput: () => this.turn(false), onchange: () => this.turn(true) });
    this.mark = node("span", { class: "mark", hidden: true });
    this.box.append(node("label", { for: id }, `${c.label} `, this.shown), node("div", { class: "track" }, this.input, this.mark));
    if (c.plays) {
      this.player = node("button", { type: "button", class: "play", "data-testid": "play", onclick: () => (this.timer ? this.pause() : this.play()) }, "Play");
      const one = (by) => () => { this.pause(); this.move(by); };
      this.box.append(node("div", { class: "row" }, node("button", { type: "button", "aria-label": `rewind ${c.label}`, onclick: () => { this.pause(); this.tell(this.low); } }, "❙◀"), node("button", { type: "button", "aria-label": `one ${c.label} back`, onclick: one(-1) }, "◀"), this.player, node("button", { type: "button", "aria-label": `one ${c.label} on`, "data-testid": "step", onclick: one(1) }, "▶")));
    }
    this.range();
  }

  range() {
    const c = this.control, to = c.log ? Math.log10 : (v) => v;
    Object.assign(this.input, { min: to(this.low), max: to(this.high), step: c.log ? 0.01 : c.step });
  }

  turn(released) {
    // A slow scene answers when the knob is let go; until then only the knob's own figure follows.
    const value = this.read();
    if (released || !this.lab.waits(this.control)) this.tell(value);
    else this.say(value);
  }

  note(mark) {
    // A place on the scale that means something, as 2/L on the rate.
    this.mark.hidden = !mark || mark[0] < this.low || mark[0] > this.high;
    if (this.mark.hidden) return;
    const to = this.control.log ? Math.log10 : (v) => v, share = (to(mark[0]) - to(this.low)) / (to(this.high) - to(this.low) || 1);
    this.mark.textContent = mark[1];
    this.mark.style.left = `calc(8px + (100% - 16px) * ${share.toFixed(4)})`;
  }

  fits(values) {
    const when = this.control.when;
    this.box.hidden = Boolean(when?.length) && !when[1].includes(values[when[0]]);
  }

  limit([low, high]) {
    if (low === this.low && high === this.high) return;
    [this.low, this.high] = [low, high];
    this.range();
    this.show(this.lab.state.values[this.control.name]);
  }

  read() {
    const c = this.control, v = c.log ? 10 ** +this.input.value : +this.input.value;
    const fit = Math.min(this.high, Math.max(this.low, c.whole ? Math.round(v) : +v.toPrecision(4)));
    return fit;
  }

  show(value) {
    const c = this.control;
    if (c.kind === "switch") this.input.checked = value;
    else if (c.kind === "slider") {
      const v = Math.min(this.high, Math.max(this.low, value));
      this.input.value = c.log ? Math.log10(v) : v;
      this.say(v);
    } else if (this.input.value !== value) this.input.value = value;
  }

  say(v) {
    this.shown.textContent = number(v);
    this.input.setAttribute("aria-valuetext", number(v));
  }

  tell(value) {
    this.lab.set(this.control.name, value);
  }

  move(by) {
    const c = this.control, now = Math.min(this.high, Math.max(this.low, this.lab.state.values[c.name]));
    const next = Math.min(this.high, Math.max(this.low, +(now + by * c.step).toPrecision(8)));
    this.tell(next);
    return next < this.high;
  }

  play() {
    if (Math.min(this.high, this.lab.state.values[this.control.name]) >= this.high) this.tell(this.low);
    this.player.textContent = "Pause";
    const steps = (this.high - this.low) / this.control.step, by = Math.max(1, Math.round(steps / 60)), wait = steps > 40 ? 90 : 260;
    this.timer = setInterval(() => { if (!this.lab.busy && !this.move(by)) this.pause(); }, wait);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    if (this.player) this.player.textContent = "Play";
  }
}

// -- the lab

class Lab {
  constructor(root, channel, options) {
    Object.assign(this, { root, channel, options, seq: 0, busy: false, again: false, past: [], focused: 0, held: null, brush: 1, warm: null });
    root.classList.add("gapless-lab");
    channel.onmessage = (answer) => this.hear(answer);
    channel.onstate = (open) => {
      root.classList.toggle("lost", !open);
      if (open) { this.busy = false; this.ask({ ask: "scenes" }); }
    };
    if (options.address) {
      addEventListener("hashchange", () => this.goto(location.hash));
      addEventListener("keydown", (event) => this.key(event));
    }
    root.addEventListener("dragover", (event) => { if (this.scene?.files.length) event.preventDefault(); });
    root.addEventListener("drop", (event) => {
      const file = event.dataTransfer?.files[0];
      if (!file || !this.scene?.files.length) return;
      event.preventDefault();
      this.take(file.name.endsWith(".gapless") ? "model" : "table", file);
    });
    channel.open?.();
  }

  ask(question) {
    this.channel.send({ ...question, seq: ++this.seq });
  }

  hear(answer) {
    if (answer.warm) return this.warmed(answer);
    if (answer.scenes) { const first = !this.scenes; this.scenes = answer.scenes; if (first) this.goto(this.options.address ? location.hash : `#${this.options.scene ?? ""}`); else this.look(); return; }
    if (answer.ask === "draw") return this.drawn(answer);
    if (answer.error) return this.tell(answer.error, true);
    if (answer.ask === "begin" && answer.scene === this.scene?.name) { this.remember(); this.state.points = answer.state.points; this.look(); }
    if (answer.ask === "report") this.give(answer.file, new Blob([answer.text], { type: "text/html" }));
    if (answer.ask === "script") this.give(answer.file, new Blob([answer.text], { type: "text/x-python" }));
    if (answer.ask === "model") this.give(answer.file, new Blob([Uint8Array.from(atob(answer.bytes), (c) => c.charCodeAt(0))]));
  }

  warmed(answer) {
    this.warm = answer;
    const left = answer.of - answer.warm.length;
    this.root.querySelectorAll(".warmth").forEach((it) => { it.hidden = !left; it.textContent = left ? `preparing ${left} of ${answer.of} scenes; all can be opened already` : ""; });
    this.root.classList.toggle("cold", Boolean(this.scene && !this.drawing && !answer.warm.includes(this.scene.name)));
  }

  give(name, blob) {
    const link = node("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  goto(hash) {
    if (!this.scenes) return;
    const [name, packed] = hash.replace(/^#/, "").split("/");
    const scene = this.scenes.find((s) => s.name === name);
    if (!scene) return this.start();
    const state = packed && this.unpacked(packed);
    if (packed && !state) this.broken = "The link does not hold a state; the scene begins anew.";
    this.linked = Boolean(state);
    this.open(scene, state || structuredClone(scene.state));
  }

  unpacked(text) {
    // The state that a link carries; nothing where it cannot be one. The server looks closer.
    try {
      const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
      const state = JSON.parse(new TextDecoder().decode(bytes)), plain = (it) => typeof it === "object" && it !== null && !Array.isArray(it);
      return plain(state) && Array.isArray(state.points ?? []) && plain(state.values ?? {}) ? { ...state, points: state.points ?? [] } : null;
    } catch { return null; }
  }

  link() {
    const bytes = new TextEncoder().encode(JSON.stringify(this.state));
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return `${location.origin}/#${this.scene.name}/${btoa(text).replaceAll("+", "-").replaceAll("/", "_")}`;
  }

  bar(...more) {
    const theme = node("button", { type: "button", "data-testid": "theme", "aria-label": "light or dark", onclick: () => { const dark = this.root.dataset.theme ? this.root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches; this.paint("theme", dark ? "light" : "dark"); this.look(); } }, "◐");
    const large = node("button", { type: "button", "data-testid": "projector", "aria-label": "large type for a projector", onclick: () => this.paint("size", this.root.dataset.size === "large" ? "" : "large") }, "A⁺");
    const home = this.options.address ? node("a", { href: "#", class: "home" }, "gapless lab") : node("button", { type: "button", class: "home", onclick: () => this.start() }, "gapless lab");
    return node("header", {}, home, ...more, node("span", { class: "warmth", role: "status", hidden: true }), node("span", { class: "tools" }, large, theme));
  }

  name(title) {
    if (this.options.address) document.title = `${title ? `${title} · ` : ""}gapless lab`;
  }

  paint(what, value) {
    this.root.dataset[what] = value;
    if (this.options.address) document.documentElement.dataset[what] = value;
  }

  start() {
    this.stop();
    this.scene = null;
    this.cards = this.scenes.map((scene) => {
      const picture = new Picture(this, true, true);
      const inside = [picture.svg, node("h2", {}, scene.title), node("p", {}, scene.sentence)];
      const card = this.options.address ? node("a", { class: "card", href: `#${scene.name}`, "data-testid": `card-${scene.name}` }, ...inside) : node("button", { type: "button", class: "card", onclick: () => this.open(scene, structuredClone(scene.state)) }, ...inside);
      picture.svg.setAttribute("aria-hidden", "true");
      return { scene, picture, card, state: structuredClone(scene.state), turn: 0 };
    });
    this.root.replaceChildren(this.bar(), node("main", {}, node("h1", {}, "See it happen"), node("p", { class: "idea" }, "Draw points, turn knobs, and watch the theory hold. Every number on these pages is computed by gapless as you move, and each names the call that gave it."), node("div", { class: "cards" }, ...this.cards.map((c) => c.card))));
    this.name("");
    if (this.warm) this.warmed(this.warm);
    this.next = 0;
    this.thumb();
  }

  thumb() {
    // The small pictures, one after the other; then, where motion is welcome, each takes a step in turn.
    if (!this.cards || this.scene) return;
    const card = this.cards[this.next % this.cards.length];
    const play = card.scene.controls.find((c) => c.plays);
    if (this.next >= this.cards.length && play) {
      const limit = card.limits?.[play.name] ?? [play.low, play.high], steps = 10, k = ++card.turn % (steps + 1);
      const v = limit[0] + ((limit[1] - limit[0]) * k) / steps;
      card.state.values[play.name] = play.whole ? Math.round(v) : v;
    }
    this.busy = true;
    this.ask({ ask: "draw", scene: card.scene.name, state: card.state });
  }

  drawn(answer) {
    this.busy = false;
    if (!this.scene) {
      const card = this.cards?.find((c) => c.scene.name === answer.scene);
      if (card && answer.drawing) { card.limits = answer.drawing.limits; if (answer.drawing.panels.length) card.picture.draw(answer.drawing.panels[0]); }
      this.next += 1;
      if (this.next >= (this.cards?.length ?? 0) && (REST.matches || document.hidden)) return;
      clearTimeout(this.later);
      this.later = setTimeout(() => this.thumb(), this.next >= this.cards.length ? 350 : 0);
      return;
    }
    if (answer.scene !== this.scene.name) return this.look();
    if (this.again) this.look();
    if (answer.error && this.linked) {
      Object.assign(this, { state: structuredClone(this.scene.state), linked: false, broken: `The link does not fit this scene (${answer.error}); it begins anew.` });
      return this.look();
    }
    if (answer.error) return this.tell(answer.error, true);
    this.linked = false;
    this.show(answer.drawing);
    this.root.dataset.seq = answer.seq;
  }

  open(scene, state) {
    this.stop();
    clearTimeout(this.later);
    Object.assign(this, { scene, state, past: [], focused: 0, held: null, cards: null, drawing: null, open_files: null });
    state.values ??= {};
    for (const c of scene.controls) state.values[c.name] ??= c.value;
    this.main = new Picture(this, true);
    this.main.svg.setAttribute("data-testid", "plane");
    this.listen(this.main.svg);
    this.sides = node("div", { class: "sides" });
    this.said = node("p", { class: "say", role: "status", "data-testid": "sentence" });
    this.numbers = node("dl", { class: "numbers", "data-testid": "numbers" });
    this.calls = node("dl", { class: "calls" });
    this.knobs = scene.controls.map((c) => new Knob(this, c));
    const at = this.scenes.indexOf(scene), pick = node("select", { "aria-label": "scene", onchange: (e) => (this.options.address ? (location.hash = e.target.value) : this.goto(`#${e.target.value}`)) }, ...this.scenes.map((s, i) => node("option", { value: s.name, ...(i === at ? { selected: true } : {}) }, `${i + 1}. ${s.title}`)));
    const aside = node("aside", { "aria-label": "numbers and controls" }, node("div", {}, this.numbers, node("div", { class: "knobs" }, ...this.knobs.map((k) => k.box)), node("details", {}, node("summary", {}, "the calls that gave these numbers"), this.calls), ...this.help(scene)), this.sides);
    const stage = node("div", { class: "stage" }, this.main.figure), picking = document.activeElement?.matches("header select");
    this.tables = node("div", { class: "tables" });
    this.root.replaceChildren(this.bar(pick), node("main", { class: "scene" }, node("div", { class: "head" }, node("h1", {}, scene.title), node("p", { class: "idea" }, scene.sentence), this.said, this.toolbar(scene)), stage, aside, this.tables));
    this.name(scene.title);
    if (picking) pick.focus();
    if (this.warm) this.warmed(this.warm);
    this.look();
  }

  help(scene) {
    // What hands can do here, for those who look for it.
    const keys = [];
    if (scene.points) keys.push(["Tab, then arrows", "move a point; with Shift further"], ["n, p", "next point, previous point"]);
    if (scene.points === "classes") keys.push(["c", "the other class"]);
    if (scene.points === "classes" || scene.points === "plain") keys.push(["Delete", "take the point away"]);
    if (scene.controls.some((c) => c.plays)) keys.push(["space", "play, pause"]);
    if (this.options.address) keys.push(["Ctrl Z", "undo"], ["Esc", "all scenes"]);
    const rows = keys.flatMap(([key, what]) => [node("dt", {}, key), node("dd", {}, what)]);
    return keys.length ? [node("details", {}, node("summary", {}, "keys"), node("dl", { class: "keys" }, ...rows))] : [];
  }

  toolbar(scene) {
    const tools = [];
    if (scene.points === "classes") {
      this.brushes = [[1, "●", "draw plus"], [-1, "●", "draw minus"], [0, "✕", "erase"]].map(([value, sign, name]) => node("button", { type: "button", class: `brush ${value > 0 ? "plus" : value < 0 ? "minus" : ""}`, "data-testid": `brush${value}`, "aria-pressed": String(value === this.brush), onclick: () => { this.brush = value; this.brushes.forEach((b, i) => b.setAttribute("aria-pressed", String([1, -1, 0][i] === value))); } }, node("span", { "aria-hidden": "true" }, sign), ` ${name.split(" ").at(-1)}`));
      tools.push(node("span", { class: "group", role: "group", "aria-label": "what a click does" }, ...this.brushes));
    }
    if (scene.points === "classes" || scene.points === "plain") tools.push(node("button", { type: "button", "data-testid": "fresh", onclick: () => { this.seed = (this.seed ?? 0) + 1; this.ask({ ask: "begin", scene: scene.name, seed: this.seed }); } }, "New points"), node("button", { type: "button", "data-testid": "clear", onclick: () => { this.remember(); this.state.points = []; this.look(); } }, "Clear"));
    if (scene.files.length) tools.push(this.opener(scene));
    tools.push(node("button", { type: "button", "data-testid": "undo", onclick: () => this.undo() }, "Undo"));
    if (this.options.address) tools.push(node("button", { type: "button", "data-testid": "link", onclick: () => { history.replaceState(null, "", this.link()); navigator.clipboard?.writeText(location.href).catch(() => {}); this.tell(`The address of this page now holds the state${this.state.files && Object.keys(this.state.files).length ? `, files included (${Math.ceil(location.href.length / 1024)} kB)` : ""}; it is copied.`); } }, "Link"));
    const give = [["script", "Script"], ...(scene.saves ? [["model", "Model file"]] : []), ...(scene.reports ? [["report", "Report"]] : [])];
    tools.push(node("span", { class: "group", role: "group", "aria-label": "export" }, node("span", { class: "name", "aria-hidden": "true" }, "Export"), ...give.map(([what, label]) => node("button", { type: "button", "data-testid": what, "aria-label": `export: ${label.toLowerCase()}`, onclick: () => this.ask({ ask: what, scene: scene.name, state: this.state }) }, label))));
    return node("div", { class: "toolbar" }, ...tools);
  }

  opener(scene) {
    const group = node("span", { class: "group", role: "group", "aria-label": "files" });
    for (const [slot, label, endings] of scene.files) {
      const input = node("input", { type: "file", accept: endings, hidden: true, "data-testid": `file-${slot}`, onchange: () => { if (input.files[0]) this.take(slot, input.files[0]); input.value = ""; } });
      group.append(node("button", { type: "button", "data-testid": `open-${slot}`, onclick: () => input.click() }, label), input);
    }
    this.open_files = node("span", { class: "group files" });
    group.append(this.open_files);
    return group;
  }

  take(slot, file) {
    // The bytes of a file become part of the state; its name is only shown.
    if (file.size > this.scene.most_file) return this.tell(`${file.name} has ${Math.ceil(file.size / 1024).toLocaleString("en")} kB; this page takes ${this.scene.most_file / 1024} kB. For larger tables there is gapless train.`, true);
    const reader = new FileReader(), scene = this.scene;
    reader.onload = () => {
      if (this.scene !== scene) return;
      this.remember();
      this.state.files = { ...this.state.files, [slot]: { name: file.name.slice(0, 200), content: reader.result.slice(reader.result.indexOf(",") + 1) } };
      this.tell(`reading ${file.name} …`);
      this.look();
    };
    reader.onerror = () => this.tell(`${file.name} cannot be read by the browser.`, true);
    reader.readAsDataURL(file);
  }

  without(slot) {
    this.remember();
    const { [slot]: _, ...rest } = this.state.files;
    this.state.files = rest;
    this.look();
  }

  waits(control) {
    return Boolean(control.on_release) || this.state.points.length > this.scene.release_above;
  }

  stop() {
    this.knobs?.forEach((k) => k.pause());
  }

  tell(text, bad = false) {
    if (!this.said) return;
    this.said.textContent = text;
    this.said.classList.toggle("bad", bad);
  }

  remember() {
    const { files, ...rest } = this.state, text = JSON.stringify(rest), last = this.past.at(-1);
    if (last?.text !== text || last.files !== files) this.past.push({ text, files }); // a file is kept once, not once a step
    if (this.past.length > 200) this.past.shift();
  }

  undo() {
    const before = this.past.pop();
    if (before) { this.state = { ...JSON.parse(before.text), ...(before.files ? { files: before.files } : {}) }; this.look(); }
  }

  set(name, value) {
    if (this.state.values[name] === value) return;
    if (this.changing !== name || performance.now() - (this.changed ?? 0) > 800) this.remember();
    Object.assign(this, { changing: name, changed: performance.now() });
    this.state.values[name] = value;
    this.knobs.find((k) => k.control.name === name)?.show(value);
    this.look();
  }

  look() {
    // One drawing in flight; while it is, only the newest state waits.
    if (!this.scene) return;
    this.again = this.busy;
    if (this.busy) return;
    this.busy = true;
    this.ask({ ask: "draw", scene: this.scene.name, state: this.state });
  }

  show(drawing) {
    this.drawing = drawing;
    this.root.classList.remove("cold");
    for (const knob of this.knobs) {
      if (drawing.limits[knob.control.name]) knob.limit(drawing.limits[knob.control.name]);
      if (document.activeElement !== knob.input || knob.control.kind !== "words") knob.show(this.state.values[knob.control.name]);
    }
    for (const knob of this.knobs) { knob.fits(this.state.values); if (knob.mark) knob.note(drawing.marks[knob.control.name]); }
    this.open_files?.replaceChildren(...Object.entries(this.state.files ?? {}).map(([slot, file]) => node("button", { type: "button", class: "chip", "data-testid": `close-${slot}`, "aria-label": `close ${file.name}`, onclick: () => this.without(slot) }, `${file.name} ✕`)));
    this.tables.replaceChildren(...drawing.tables.map((t) => this.table(t)));
    const [main, ...sides] = drawing.panels;
    if (main) this.main.draw(main);
    while (this.sides.children.length > sides.length) this.sides.lastChild.remove();
    this.small = (this.small ?? []).filter((p) => p.figure.isConnected);
    sides.forEach((panel, i) => {
      if (!this.small[i]) { this.small[i] = new Picture(this, false); this.small[i].svg.setAttribute("role", "img"); this.sides.append(this.small[i].figure); }
      this.small[i].svg.setAttribute("aria-label", panel.title);
      this.small[i].draw(panel);
    });
    this.main.svg.setAttribute("aria-label", drawing.sentence);
    this.tell(this.broken ? `${this.broken} ${drawing.sentence}` : drawing.sentence);
    this.broken = null;
    this.numbers.replaceChildren(...drawing.numbers.map((n) => node("div", {}, node("dt", {}, n.name), node("dd", { "data-name": n.name, "data-value": n.value, title: n.source }, n.text))));
    this.calls.replaceChildren(...drawing.numbers.flatMap((n) => [node("dt", {}, n.name), node("dd", {}, node("code", {}, n.source))]));
  }

  table(t) {
    const cells = (row, kind) => row.map((text) => node(kind === "th" && !text ? "td" : kind, kind === "th" && text ? { scope: "col" } : {}, text));
    const body = t.rows.map((row, i) => node("tr", t.bad.includes(i) ? { class: "bad" } : {}, ...cells(row, "td")));
    return node("section", { class: "table", "data-testid": `table-${t.name}`, tabindex: 0, "aria-label": t.title }, node("table", {}, node("caption", {}, t.title), node("thead", {}, node("tr", {}, ...cells(t.head, "th"))), node("tbody", {}, ...body)));
  }

  // -- hands

  listen(svg) {
    svg.addEventListener("pointerdown", (event) => {
      if (!this.main.panel?.pointer || event.button > 0) return;
      const place = this.main.at(event);
      let i = event.target.dataset?.i;
      if (i === undefined && event.pointerType === "touch") i = this.near(place, 0.35);
      if (i !== undefined && this.brush === 0 && this.scene.points === "classes") { this.remember(); this.state.points.splice(+i, 1); return this.look(); }
      if (i === undefined) {
        if (this.scene.points === "handles" || this.brush === 0 || this.state.points.length >= this.scene.most) return;
        this.remember();
        this.state.points.push([...place, this.scene.points === "classes" ? this.brush : 1]);
        i = this.state.points.length - 1;
        this.held = +i;
        this.look();
      } else { this.remember(); this.held = +i; }
      this.focused = +i;
      svg.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    svg.addEventListener("pointermove", (event) => { if (this.held !== null) this.move(this.held, ...this.main.at(event)); });
    const drop = () => { if (this.held !== null) { this.held = null; this.look(); } };
    svg.addEventListener("pointerup", drop);
    svg.addEventListener("pointercancel", drop);
    svg.addEventListener("keydown", (event) => {
      const i = event.target.dataset?.i === undefined ? null : +event.target.dataset.i;
      if (i === null) return;
      const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key], by = event.shiftKey ? 0.5 : 0.05;
      if (way) { event.preventDefault(); this.remember(); const [x, y] = this.state.points[i]; this.move(i, +(x + by * way[0]).toFixed(3), +(y + by * way[1]).toFixed(3)); }
      else if (event.key === "n" || event.key === "p") this.focus((i + (event.key === "n" ? 1 : this.state.points.length - 1)) % this.state.points.length);
      else if (event.key === "c" && this.scene.points === "classes") { this.remember(); this.state.points[i][2] *= -1; this.look(); }
      else if ((event.key === "Delete" || event.key === "Backspace") && this.scene.points !== "handles") { event.preventDefault(); this.remember(); this.state.points.splice(i, 1); this.look(); }
    });
  }

  near([x, y], reach) {
    let best, least = reach * reach;
    this.state.points.forEach(([a, b], i) => { const far = (a - x) ** 2 + (b - y) ** 2; if (far < least) [best, least] = [i, far]; });
    return best;
  }

  focus(i) {
    this.main.dots[this.focused]?.setAttribute("tabindex", -1);
    this.focused = i;
    this.main.dots[i]?.setAttribute("tabindex", 0);
    this.main.dots[i]?.focus();
  }

  move(i, x, y) {
    const fit = (v) => Math.max(-4, Math.min(4, v)), point = this.state.points[i];
    if (!point || (point[0] === fit(x) && point[1] === fit(y))) return;
    point[0] = fit(x);
    point[1] = fit(y);
    if (this.scene.points !== "handles") { this.main.dots[i]?.setAttribute("cx", this.main.x(point[0])); this.main.dots[i]?.setAttribute("cy", this.main.y(point[1])); }
    if (this.held === null || this.state.points.length <= this.scene.release_above) this.look();
  }

  key(event) {
    if (event.target.matches?.("input[type=text]")) return;
    if ((event.ctrlKey || event.metaKey) && event.key === "z") { event.preventDefault(); this.undo(); }
    else if (event.key === "Escape" && this.scene) location.hash = "";
    else if (event.key === " " && this.scene && !event.target.matches?.("button, input, select, a, summary")) { const knob = this.knobs.find((k) => k.control.plays); if (knob) { event.preventDefault(); knob.timer ? knob.pause() : knob.play(); } }
  }
}

export function mount(root, channel, options = {}) {
  return new Lab(root, channel, options);
}

// In a notebook cell: anywidget calls render.
export default {
  render({ model, el }) {
    const root = node("div", { class: "gapless-lab cell" });
    el.append(root);
    const channel = { send: (question) => model.send(question), onmessage: () => {}, onstate: () => {} };
    model.on("msg:custom", (answer) => channel.onmessage(answer));
    const lab = mount(root, channel, { scene: model.get("scene") });
    channel.onstate(true);
    return () => lab.stop();
  },
};
