// Nodes, operators and tensors by parts of their names; all words must be there.
"use strict";

const kMostFound = 60;  // that are listed

class Search {
  // go(node), chooseValue(value): where what is found leads; mark(nodes): told what was found, null for nothing asked.
  constructor(box, list, graph, {go, chooseValue, mark}) {
    Object.assign(this, {box, list, graph, go, chooseValue, mark, at: -1});
    box.addEventListener("input", () => this.look());
    box.addEventListener("keydown", event => this.key(event));
    box.addEventListener("focus", () => { if (box.value.trim()) this.list.hidden = this.list.children.length === 0; });
    addEventListener("click", event => { if (!event.target.closest("#searching, #found")) this.close(); });
  }

  // Read when something is first looked for: of each node and tensor, what is looked at.
  texts() {
    if (this.known) return this.known;
    const {graph} = this, nodes = [], values = [];
    for (let node = 0; node < graph.size; ++node) nodes.push(`${graph.op(node)} ${graph.nodeName(node)}`.toLowerCase());
    for (let v = 0; v < graph.maker.length; ++v) values.push(graph.valueName(v).toLowerCase());
    return this.known = {nodes, values};
  }

  look() {
    const words = this.box.value.toLowerCase().split(/\s+/).filter(word => word);
    if (words.length === 0) {
      this.list.replaceChildren();
      this.close();
      return this.mark(null);
    }
    const {graph} = this, {nodes, values} = this.texts();
    const matches = texts => texts.flatMap((text, i) => words.every(word => text.includes(word)) ? [i] : []);
    const found = matches(nodes), isFound = new Set(found);
    const tensors = matches(values).filter(value => !isFound.has(graph.maker[value]));
    const ofNode = node => this.row(graph.op(node), graph.nodeName(node), () => this.go(node));
    const kind = value => graph.isWeight(value) ? "weight" : "tensor";
    const ofValue = value => this.row(kind(value), graph.valueName(value), () => this.chooseValue(value));
    const rows = [...found.slice(0, kMostFound).map(ofNode),
                  ...tensors.slice(0, Math.max(10, kMostFound - found.length)).map(ofValue)];
    const left = found.length + tensors.length - rows.length;
    const more = left > 0 ? `; ${grouped(left)} are not listed` : "";
    const counts = `${countText(found.length, "node")}, ${countText(tensors.length, "tensor")}${more}`;
    this.list.replaceChildren(...rows, html("li", {class: "soft count", role: "presentation"}, counts));
    this.list.hidden = false;
    this.box.setAttribute("aria-expanded", "true");
    this.at = -1;
    this.mark([...found, ...tensors.flatMap(value => [graph.maker[value], ...graph.readers[value]])]);
  }

  row(kind, name, choose) {
    const onclick = () => {
      this.close();
      choose();
    };
    return html("li", {role: "option", onclick}, html("b", {}, kind), " ", html("span", {}, name));
  }

  key(event) {
    const rows = [...this.list.querySelectorAll("[role=option]")];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      this.at = Math.max(0, Math.min(rows.length - 1, this.at + (event.key === "ArrowDown" ? 1 : -1)));
      rows.forEach((row, i) => row.setAttribute("aria-selected", i === this.at));
      rows[this.at]?.scrollIntoView({block: "nearest"});
    } else if (event.key === "Enter") {
      rows[Math.max(0, this.at)]?.click();
    } else if (event.key === "Escape") {
      this.close();
    } else {
      return;
    }
    event.preventDefault();
  }

  close() {
    this.list.hidden = true;
    this.box.setAttribute("aria-expanded", "false");
  }
}
