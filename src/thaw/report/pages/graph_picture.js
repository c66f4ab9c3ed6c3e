// Draws a level into a box that scrolls: SVG at any scale, boxes that are reached by Tab and the arrows.
"use strict";

const kSvg = "http://www.w3.org/2000/svg";
const kMarkNames = {frozen: "frozen", problem: "cannot run", added: "added", removed: "removed", changed: "changed"};
const kLongestLabel = 34;  // characters

function svg(tag, attributes, ...children) {
  const element = document.createElementNS(kSvg, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// Leaves out what is in the middle: both ends of a name tell more.
function shortened(text, most) {
  if (text.length <= most) return text;
  const front = Math.ceil((most - 1) * 0.4);
  return `${text.slice(0, front)}…${text.slice(front + 1 - most)}`;
}

const measuring = document.createElement("canvas").getContext("2d");
function widthOf(text, font) {
  measuring.font = font;
  return measuring.measureText(text).width;
}

class Picture {
  // onOpen(box), onSelect(box) are told what was chosen.
  constructor(stage, graph, {onOpen, onSelect}) {
    Object.assign(this, {stage, graph, onOpen, onSelect, scale: 1, level: null});
    const face = getComputedStyle(document.body).fontFamily;
    this.fonts = {title: `600 13px ${face}`, text: `12px ${face}`, label: "11.5px ui-monospace, monospace"};
    stage.addEventListener("keydown", event => this.key(event));
    stage.addEventListener("wheel", event => this.wheel(event), {passive: false});
    this.dragging();
    this.pinching();
  }

  // `measure`: what the bars of the boxes compare.
  show(level, measure) {
    this.level = level;
    this.texts = level.boxes.map(box => this.textsOf(box, level));
    this.labels(level);
    const sizes = this.texts.map(text => ({
      width: Math.max(84, ...text.lines.map(line => widthOf(line.text, this.fonts[line.font]) + 26)),
      height: 16 + 17 * text.lines.length + (text.item ? 5 : 0),
      labels: text.labels.length,
      labelWidth: Math.max(0, ...text.labels.map(label => widthOf(shortened(label, kLongestLabel), this.fonts.label))) + 8}));
    this.size = layOut(sizes, level.links);
    this.sizes = sizes;
    this.draw(measure);
    this.fit(true);
  }

  textsOf(box, level) {
    const {graph} = this;
    if (box.port) {
      const text = box.value < 0 ? `${box.values.length} more tensors` : this.otherEnd(box, level) || lastPart(graph.valueName(box.value));
      return {lines: [{text: shortened(text, 30), font: "text"}], labels: [],
              full: box.value < 0 ? text : `${graph.valueName(box.value)} ${graph.type(box.value)}`};
    }
    const {item} = box, lines = [{text: shortened(graph.title(item), 28), font: "title"}];
    const subtitle = graph.subtitle(item);
    if (subtitle) lines.push({text: shortened(subtitle, 30), font: "text"});
    const counted = Object.entries(graph.total(item).marks);
    const marks = counted.map(([kind, n]) => item.node !== undefined && n === 1 ? kMarkNames[kind] : `${n} ${kMarkNames[kind]}`);
    if (marks.length > 0) lines.push({text: marks.join(", "), font: "text", marks: true});
    return {item, lines, labels: [], kinds: counted.map(([kind]) => kind), full: item.node !== undefined ? graph.nodeName(item.node) : graph.title(item)};
  }

  // Who makes a tensor that comes in, or reads one that goes out, if it is no input or output of the graph.
  otherEnd({port, value}, level) {
    const {graph} = this;
    if (port === "in") return graph.maker[value] >= 0 ? this.outerName(graph.maker[value], level) : "";
    if (graph.leaving.has(value)) return "";
    const names = new Set(graph.readers[value].map(node => this.outerName(node, level)).filter(name => name));
    return [...names].slice(0, 2).join(", ") + (names.size > 2 ? ` and ${names.size - 2} more` : "");
  }

  // Of a node outside of what is shown: where the places on the way to it and to here part, and how it is called. Empty inside.
  outerName(node, level) {
    const path = this.graph.pathToNode(node), here = this.graph.pathTo(level.place);
    if (path.includes(level.place)) return "";
    const outside = path.filter(place => !here.includes(place) && !place.includes(":"));
    return outside.length > 0 ? this.graph.title(this.graph.itemAt(outside[0])) : this.graph.title({node});
  }

  // Below each box, once: the sizes of what goes out of it.
  labels(level) {
    const given = level.boxes.map(() => new Map());
    for (const link of level.links) {
      for (const value of link.values.keys()) {
        const sizes = this.graph.sizes(value);
        if (sizes) given[link.from].set(sizes, this.graph.valueMarks(value).length > 0 || given[link.from].get(sizes));
      }
    }
    given.forEach((sizes, i) => {
      const labels = [...sizes.keys()];
      this.texts[i].labels = labels.length > 3 ? [...labels.slice(0, 2), `… ${labels.length - 2} more`] : labels;
      this.texts[i].marked = sizes;
    });
  }

  draw(measure) {
    const {level} = this, lines = svg("g", {class: "lines"}), boxes = svg("g", {class: "boxes"}), labels = svg("g", {class: "labels"});
    for (const link of level.links) lines.append(this.line(link));
    const amounts = level.boxes.map(box => box.item ? this.graph.total(box.item)[measure] : 0);
    const all = amounts.reduce((sum, amount) => sum + amount, 0);
    this.elements = level.boxes.map((box, i) => {
      const element = this.box(box, i, all > 0 ? amounts[i] / all : 0);
      boxes.append(element);
      this.texts[i].labels.forEach((label, k) => labels.append(this.label(label, i, k)));
      return element;
    });
    const arrow = svg("marker", {id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse"},
                      svg("path", {d: "M0 0 8 4 0 8z"}));
    this.svg = svg("svg", {viewBox: `0 0 ${this.size.width} ${this.size.height}`, role: "group",
                           "aria-label": `the graph, ${countText(level.items.length, "item")}`},
                   svg("defs", {}, arrow), lines, labels, boxes);
    this.stage.replaceChildren(this.svg);
    this.elements[level.shift]?.setAttribute("tabindex", "0");
  }

  line({points, isBack, values}) {
    let d = `M${points[0].map(round).join(" ")}`;
    for (let i = 1; i < points.length; ++i) {
      const [x0, y0] = points[i - 1], [x, y] = points[i], middle = (y0 + y) / 2;
      d += Math.abs(x - x0) < 0.5 ? `L${round(x)} ${round(y)}` : `C${round(x0)} ${round(middle)} ${round(x)} ${round(middle)} ${round(x)} ${round(y)}`;
    }
    const states = [...values].map(([value, state]) => state || (this.graph.valueMarks(value)[0] ?? [""])[0]);
    const state = states.every(s => s === states[0]) ? states[0] : states.find(s => s && s !== "removed") ?? "";
    const text = [...values.keys()].slice(0, 12).map(value => [this.graph.valueName(value), this.graph.type(value),
      ...this.graph.valueMarks(value).map(mark => this.graph.text(mark[1]))].join("  ")).join("\n");
    return svg("path", {d, class: `line ${state} ${isBack ? "back" : ""}`, [isBack ? "marker-start" : "marker-end"]: "url(#arrow)"},
               svg("title", {}, text));
  }

  box(box, i, share) {
    const {x, y, width, height} = this.sizes[i], text = this.texts[i];
    const opens = box.item && this.graph.placeOf(box.item) !== null;
    const kinds = (text.kinds ?? []).join(" "), what = box.port ? `port ${box.port}` : box.item.node === undefined ? "module" : "node";
    const element = svg("g", {class: `box ${what} ${opens ? "opens" : ""} ${kinds}`, transform: `translate(${round(x - width / 2)} ${round(y)})`,
                              role: "button", tabindex: "-1", "data-box": i,
                              "aria-label": text.lines.map(line => line.text).join(", ") + (opens ? ", opens" : "")},
                        svg("title", {}, text.full));
    if (what === "module") element.append(svg("rect", {class: "behind", x: 4, y: 4, width, height, rx: 7}));
    element.append(svg("rect", {class: "front", width, height, rx: box.port ? height / 2 : 7}));
    if (share > 0.01) element.append(svg("rect", {class: "share", x: 7, y: height - 7, width: Math.max(2, (width - 14) * share), height: 3, rx: 1.5}));
    text.lines.forEach((line, k) => element.append(svg("text", {class: line.marks ? "marks" : line.font, x: width / 2, y: 21 + 17 * k}, line.text)));
    element.addEventListener("click", () => this.choose(i));
    return element;
  }

  label(text, i, k) {
    const {x, y, height} = this.sizes[i], shown = shortened(text, kLongestLabel), top = y + height + 4 + kLabelLine * k;
    const width = widthOf(shown, this.fonts.label) + 6;
    return svg("g", {class: `label ${this.texts[i].marked.get(text) ? "marked" : ""}`}, svg("title", {}, text),
               svg("rect", {x: round(x - width / 2), y: round(top), width: round(width), height: kLabelLine}),
               svg("text", {x: round(x), y: round(top + 11)}, shown));
  }

  choose(i) {
    const box = this.level.boxes[i];
    if (box.item && this.graph.placeOf(box.item) !== null) return this.onOpen(box);
    this.select(i);
    this.onSelect(box);
  }

  select(i) {
    for (const element of this.elements) { element.classList.remove("chosen"); element.setAttribute("tabindex", "-1"); }
    if (i < 0) return;
    this.elements[i].classList.add("chosen");
    this.elements[i].setAttribute("tabindex", "0");
    for (const path of this.svg.querySelectorAll(".line")) path.classList.remove("chosen");
    this.level.links.forEach((link, k) => {
      if (link.from === i || link.to === i) this.svg.querySelectorAll(".line")[k].classList.add("chosen");
    });
  }

  // Boxes in which something was found; the others step back.
  mark(boxes) {
    this.svg.classList.toggle("searched", boxes !== null);
    this.elements.forEach((element, i) => element.classList.toggle("found", boxes?.has(i) ?? false));
  }

  reveal(i) {
    const {x, y, height} = this.sizes[i], {stage, scale} = this;
    stage.scrollTo(x * scale - stage.clientWidth / 2, (y + height / 2) * scale - stage.clientHeight / 2);
  }

  // All of it where that can be read, else its upper end.
  fit(first = false) {
    const {clientWidth, clientHeight} = this.stage, {width, height} = this.size;
    const whole = Math.min(clientWidth / width, clientHeight / height);
    this.zoomTo(first ? Math.min(1, Math.max(whole, Math.min(0.8, clientWidth / width), 0.45)) : Math.min(1.5, whole));
    const upper = this.sizes.filter(size => size.layer === 0), middle = upper.reduce((sum, size) => sum + size.x, 0) / upper.length;
    this.stage.scrollTo(middle * this.scale - clientWidth / 2, 0);
  }

  // About a point of the stage; its middle where none is given.
  zoomTo(scale, x = this.stage.clientWidth / 2, y = this.stage.clientHeight / 2) {
    const next = Math.min(3, Math.max(0.02, scale)), change = next / this.scale;
    const left = (this.stage.scrollLeft + x) * change - x, top = (this.stage.scrollTop + y) * change - y;
    this.scale = next;
    this.svg.setAttribute("width", round(this.size.width * next));
    this.svg.setAttribute("height", round(this.size.height * next));
    this.stage.scrollTo(left, top);
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;  // scrolls
    event.preventDefault();
    const at = this.stage.getBoundingClientRect();
    this.zoomTo(this.scale * Math.exp(-event.deltaY / 300), event.clientX - at.left, event.clientY - at.top);
  }

  // With a mouse; fingers scroll by themselves.
  dragging() {
    let from = null;
    this.stage.addEventListener("pointerdown", event => {
      if (event.pointerType !== "mouse" || event.button !== 0) return;
      from = {x: event.clientX, y: event.clientY, left: this.stage.scrollLeft, top: this.stage.scrollTop, moved: false};
    });
    addEventListener("pointermove", event => {
      if (!from) return;
      const x = event.clientX - from.x, y = event.clientY - from.y;
      from.moved ||= Math.hypot(x, y) > 5;
      if (from.moved) this.stage.scrollTo(from.left - x, from.top - y);
    });
    addEventListener("pointerup", () => { if (from) setTimeout(() => { from = null; }); });
    this.stage.addEventListener("click", event => { if (from?.moved) event.stopPropagation(); }, {capture: true});
  }

  // Two fingers change the scale.
  pinching() {
    let before = 0;
    const apart = ({touches: [a, b]}) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
    this.stage.addEventListener("touchstart", event => { if (event.touches.length === 2) before = apart(event); });
    this.stage.addEventListener("touchmove", event => {
      if (event.touches.length !== 2 || !event.cancelable) return;
      event.preventDefault();
      const now = apart(event), {touches: [a, b]} = event, at = this.stage.getBoundingClientRect();
      this.zoomTo(this.scale * now / before, (a.clientX + b.clientX) / 2 - at.left, (a.clientY + b.clientY) / 2 - at.top);
      before = now;
    }, {passive: false});
  }

  key(event) {
    const box = event.target.closest?.("[data-box]"), i = box ? Number(box.dataset.box) : -1;
    const step = {"+": 1.25, "=": 1.25, "-": 0.8}[event.key];
    if (step) this.zoomTo(this.scale * step);
    else if (event.key === "0") this.fit();
    else if (i >= 0 && (event.key === "Enter" || event.key === " ")) this.choose(i);
    else if (i >= 0 && event.key.startsWith("Arrow")) this.walk(i, event.key);
    else return;
    event.preventDefault();
  }

  // Along the lines, or to the next box of the layer.
  walk(i, key) {
    const {links} = this.level, {x, layer} = this.sizes[i];
    const near = {ArrowDown: () => links.filter(l => l.from === i).map(l => l.to), ArrowUp: () => links.filter(l => l.to === i).map(l => l.from),
                  ArrowRight: () => this.beside(layer, other => other.x > x), ArrowLeft: () => this.beside(layer, other => other.x < x)}[key]?.() ?? [];
    if (near.length === 0) return;
    const nearest = near.reduce((a, b) => Math.abs(this.sizes[b].x - x) < Math.abs(this.sizes[a].x - x) ? b : a);
    this.elements[i].setAttribute("tabindex", "-1");
    this.elements[nearest].setAttribute("tabindex", "0");
    this.elements[nearest].focus();
  }

  beside(layer, isThere) {
    return this.sizes.flatMap((size, i) => size.layer === layer && isThere(size) ? [i] : []);
  }
}

const round = number => Math.round(number * 10) / 10;
const lastPart = name => name.split("/").filter(part => part).pop() ?? name;
