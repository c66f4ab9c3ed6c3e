// Draws a level into a box that scrolls: SVG at any scale, boxes that are reached by Tab and the arrows.
"use strict";

const kMarkNames = {frozen: "frozen", problem: "cannot run", added: "added", removed: "removed", changed: "changed",
                    on_cpu: "on the CPU", on_provider: "on another provider"};
const kLongestLabel = 40;  // characters

// "[batch, 3, …]": of sizes that are long, each loses its middle.
function shortSizes(text) {
  if (text.length <= kLongestLabel || !text.startsWith("[")) return shortened(text, kLongestLabel);
  const sizes = text.slice(1, -1).split(", "), most = Math.max(7, Math.floor(kLongestLabel / sizes.length) - 2);
  return shortened(`[${sizes.map(size => shortened(size, most)).join(", ")}]`, kLongestLabel);
}

class Picture {
  // onOpen(box), onSelect(box) are told what was chosen.
  constructor(stage, graph, {onOpen, onSelect}) {
    Object.assign(this, {stage, graph, onOpen, onSelect, scale: 1, level: null});
    const face = getComputedStyle(document.body).fontFamily;
    this.fonts = {title: `600 13px ${face}`, text: `12px ${face}`, marks: `600 12px ${face}`,
                  label: "11.5px ui-monospace, monospace"};
  }

  // `measure`: what the bars of the boxes compare.
  show(level, measure) {
    this.level = level;
    this.texts = level.boxes.map(box => this.textsOf(box, level));
    this.labels(level);
    const widest = (texts, font) => Math.max(0, ...texts.map(text => widthOf(text, this.fonts[font])));
    const sizes = this.texts.map(({lines, labels, item}) => ({
      width: Math.max(84, ...lines.map(line => widest([line.text], line.font) + 26)),
      height: 16 + 17 * lines.length + (item ? 5 : 0),
      labels: labels.length,
      labelWidth: widest(labels.map(shortSizes), "label") + 8}));
    this.size = layOut(sizes, level.links);
    this.sizes = sizes;
    this.draw(measure);
    this.fit(true);
  }

  // The lines of a box, of what kinds the marks in it are, and what it says in full.
  textsOf(box, level) {
    return box.port ? this.textsOfPort(box, level) : this.textsOfItem(box.item);
  }

  textsOfPort(box, level) {
    const {graph} = this, line = text => ({lines: [{text: shortened(text, 30), font: "text"}], labels: [], kinds: []});
    if (box.value < 0) return {...line(`${box.values.length} more tensors`), full: "tensors without a box"};
    const name = graph.valueName(box.value);
    return {...line(this.otherEnd(box, level) || lastPart(name)), full: `${name} ${graph.type(box.value)}`};
  }

  textsOfItem(item) {
    const {graph} = this, isNode = item.node !== undefined, subtitle = graph.subtitle(item);
    const lines = [{text: shortened(graph.title(item), 28), font: "title"}];
    if (subtitle) lines.push({text: shortened(subtitle, 30), font: "text"});
    const marks = Object.entries(graph.total(item).marks);
    const counted = marks.map(([kind, n]) => isNode && n === 1 ? kMarkNames[kind] : `${n} ${kMarkNames[kind]}`);
    if (marks.length > 0) lines.push({text: counted.join(", "), font: "marks"});
    return {item, lines, labels: [], kinds: marks.map(([kind]) => kind),
            full: isNode ? graph.nodeName(item.node) : graph.title(item)};
  }

  // Who makes a tensor that comes in, or reads one that goes out, if it is no input or output of the graph.
  otherEnd({port, value}, level) {
    const {graph} = this;
    if (port === "in") return graph.maker[value] >= 0 ? this.outerName(graph.maker[value], level) : "";
    if (graph.leaving.has(value)) return "";
    const names = new Set(graph.readers[value].map(node => this.outerName(node, level)).filter(name => name));
    return [...names].slice(0, 2).join(", ") + (names.size > 2 ? ` and ${names.size - 2} more` : "");
  }

  // Of a node outside of what is shown: what is called so where the ways to it and to here part. Empty inside.
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
    const {level} = this, boxes = svg("g", {class: "boxes"}), labels = svg("g", {class: "labels"});
    this.lines = level.links.map(link => this.line(link));
    const amounts = level.boxes.map(box => box.item ? this.graph.total(box.item)[measure] : 0);
    const all = amounts.reduce((sum, amount) => sum + amount, 0);
    this.elements = level.boxes.map((box, i) => this.box(box, i, all > 0 ? amounts[i] / all : 0));
    this.texts.forEach((text, i) => labels.append(...text.labels.map((label, k) => this.label(label, i, k))));
    boxes.append(...this.elements);
    const arrow = svg("marker", {id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9,
                                 markerUnits: "userSpaceOnUse", orient: "auto-start-reverse"},
                      svg("path", {d: "M0 0 8 4 0 8z"}));
    this.svg = svg("svg", {viewBox: `0 0 ${this.size.width} ${this.size.height}`, role: "group",
                           "aria-label": `the graph, ${countText(level.items.length, "item")}`},
                   svg("defs", {}, arrow), svg("g", {class: "lines"}, ...this.lines), labels, boxes);
    this.stage.replaceChildren(this.svg);
    this.reached(level.shift);
  }

  line({points, isBack, values}) {
    const at = (...numbers) => numbers.map(round).join(" ");
    let d = `M${at(...points[0])}`;
    for (let i = 1; i < points.length; ++i) {
      const [x0, y0] = points[i - 1], [x, y] = points[i], middle = (y0 + y) / 2;
      d += Math.abs(x - x0) < 0.5 ? `L${at(x, y)}` : `C${at(x0, middle, x, middle, x, y)}`;
    }
    const {graph} = this, end = isBack ? "marker-start" : "marker-end";
    const states = [...values].map(([value, state]) => state || (graph.valueMarks(value)[0] ?? [""])[0]);
    const state = states.every(s => s === states[0]) ? states[0] : states.find(s => s && s !== "removed") ?? "";
    const marks = value => graph.valueMarks(value).map(mark => graph.text(mark[1]));
    const text = value => [graph.valueName(value), graph.type(value), ...marks(value)].join("  ");
    const title = svg("title", {}, [...values.keys()].slice(0, 12).map(text).join("\n"));
    return svg("path", {d, class: `line ${state} ${isBack ? "back" : ""}`, [end]: "url(#arrow)"}, title);
  }

  // `share`: how long its bar is.
  box(box, i, share) {
    const {x, y, width, height} = this.sizes[i], {lines, kinds, full} = this.texts[i];
    const opens = box.item && this.graph.placeOf(box.item) !== null;
    const what = box.port ? `port ${box.port}` : box.item.node === undefined ? "module" : "node";
    const element = svg("g", {class: ["box", what, opens ? "opens" : "", ...kinds].join(" "), role: "button",
                              tabindex: "-1", "data-box": i,
                              transform: `translate(${round(x - width / 2)} ${round(y)})`,
                              "aria-label": lines.map(line => line.text).join(", ") + (opens ? ", opens" : "")},
                        svg("title", {}, full));
    const frame = (name, attributes) => element.append(svg("rect", {class: name, ...attributes}));
    if (what === "module") frame("behind", {x: 4, y: 4, width, height, rx: 7});
    frame("front", {width, height, rx: box.port ? height / 2 : 7});
    const bar = (width - 14) * share;
    if (share > 0.01) frame("share", {x: 7, y: height - 7, width: Math.max(2, bar), height: 3, rx: 1.5});
    lines.forEach(({text, font}, k) => element.append(svg("text", {class: font, x: width / 2, y: 21 + 17 * k}, text)));
    element.addEventListener("click", () => this.choose(i));
    return element;
  }

  label(text, i, k) {
    const {x, y, height} = this.sizes[i], shown = shortSizes(text), top = y + height + 4 + kLabelLine * k;
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
    for (const element of [...this.elements, ...this.lines]) element.classList.remove("chosen");
    if (i < 0) return;
    this.elements[i].classList.add("chosen");
    this.level.links.forEach((link, k) => this.lines[k].classList.toggle("chosen", link.from === i || link.to === i));
    this.reached(i);
  }

  // One box of all is reached by Tab, the others from there.
  reached(i) {
    this.svg.querySelector("[tabindex='0']")?.setAttribute("tabindex", "-1");
    this.elements[i]?.setAttribute("tabindex", "0");
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
    const upper = this.sizes.filter(size => size.layer === 0);
    const middle = upper.reduce((sum, size) => sum + size.x, 0) / Math.max(1, upper.length);
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
}
