// What is known of the place that is open, or of the node or tensor that was chosen in it.
"use strict";

function html(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const kMostListed = 40;  // rows that are shown before "all"

class Details {
  // go(node), open(place), chooseValue(value): where a link leads.
  constructor(panel, graph, {go, open, chooseValue}) {
    Object.assign(this, {panel, graph, go, open, chooseValue});
  }

  // A place: what it holds, the greatest first.
  showPlace(place, measure) {
    const {graph} = this, item = graph.itemAt(place), total = graph.total(item), items = graph.itemsOf(place);
    const module = item.module, isGraph = module !== undefined && graph.data.modules.parent[module] < 0;
    const facts = [["nodes", total.nodes.toLocaleString("en")], ["weights", shortNumber(total.weights, "B")],
                   ["operations", this.cost(total.flops, module === undefined ? 0 : graph.data.modules.flops[module], total.unknown)],
                   ["bytes moved", this.cost(total.bytes, module === undefined ? 0 : graph.data.modules.bytes[module], 0, "B")]];
    for (const [kind, count] of Object.entries(total.marks)) facts.push([kMarkNames[kind], countText(count, "node")]);
    const name = module !== undefined && !isGraph ? graph.moduleName(module) : "";
    this.fill(html("h2", {}, graph.title(item)), ...(name ? [html("p", {class: "name"}, name)] : []), this.facts(facts),
              graph.data.assumed && (total.flops > 0 || total.bytes > 0) ? html("p", {class: "soft"}, `numbers at ${graph.data.assumed}`) : "",
              this.contents(items, measure));
  }

  // A number at the sizes that are assumed, and the expression that it comes from.
  cost(number, text, unknown, unit = "") {
    const shown = shortNumber(number, unit) + (unknown > 0 ? ` and what ${countText(unknown, "node")} take${unknown === 1 ? "s" : ""}` : "");
    return text ? [shown, html("code", {class: "expression"}, this.graph.text(text))] : shown;
  }

  contents(items, measure) {
    const {graph} = this, amounts = items.map(item => graph.total(item)[measure]), all = amounts.reduce((sum, amount) => sum + amount, 0);
    const sorted = items.map((item, i) => ({item, amount: amounts[i]})).sort((a, b) => b.amount - a.amount);
    const unit = measure === "flops" || measure === "nodes" ? "" : "B";
    const row = ({item, amount}) => html("tr", {}, html("td", {}, html("button", {type: "button", class: "link", onclick: () => this.enter(item)},
        shortened(graph.title(item), 40)), " ", html("span", {class: "soft"}, item.module !== undefined ? "" : graph.subtitle(item))),
      html("td", {class: "number"}, amount > 0 ? shortNumber(amount, unit) : ""),
      html("td", {class: "number"}, all > 0 && amount > 0 ? `${(100 * amount / all).toFixed(1)} %` : ""));
    return this.list("in here", sorted, row, "contents");
  }

  enter(item) {
    const place = this.graph.placeOf(item);
    if (place === null) this.go(item.node);
    else this.open(place);
  }

  showNode(node) {
    const {graph} = this, {nodes} = graph.data, names = graph.data.operands[nodes.op[node]] ?? [];
    const path = graph.pathToNode(node), around = path[path.length - 1];
    const inputs = nodes.in[node].map((value, i) => ({value, name: names[Math.min(i, names.length - 1)] ?? `${i}`}));
    const outputs = nodes.out[node].map((value, i) => ({value, name: `${i}`}));
    this.fill(html("h2", {}, graph.op(node)), html("p", {class: "name"}, graph.nodeName(node)),
              html("p", {}, "in ", this.link(graph.title(graph.itemAt(around)), () => this.open(around)), ...this.opening(node)),
              this.marksOf(graph.marks(node)),
              this.list("inputs", inputs.filter(input => input.value >= 0), input => this.tensor(input, "made by"), "tensors"),
              this.list("outputs", outputs.filter(output => output.value >= 0), output => this.tensor(output, "read by"), "tensors"),
              this.list("attributes", (nodes.attributes[node] ?? []).map(id => graph.text(id)), text => html("tr", {}, html("td", {}, html("code", {}, text))), "attributes"),
              this.facts([["operations", nodes.flops[node] === null ? "not known" : this.cost(nodes.flops[node], nodes.flops_text[node], 0)],
                          ["bytes moved", nodes.bytes[node] === null ? "not known" : this.cost(nodes.bytes[node], nodes.bytes_text[node], 0, "B")],
                          ["weights", shortNumber(graph.total({node}).weights, "B")]]));
  }

  opening(node) {
    return this.graph.graphsIn(node).flatMap(g => [", runs ", this.link(this.graph.data.graphs[g].title, () => this.open(`m${this.graph.data.graphs[g].module}`))]);
  }

  showValue(value) {
    const {graph} = this, maker = graph.maker[value];
    this.fill(html("h2", {}, lastPart(graph.valueName(value))), html("p", {class: "name"}, graph.valueName(value)), html("p", {}, html("code", {}, graph.type(value))),
              this.marksOf(graph.valueMarks(value)), maker >= 0 ? html("p", {}, "made by ", this.nodeLink(maker)) : "",
              this.list("read by", graph.readers[value], node => html("tr", {}, html("td", {}, this.nodeLink(node))), "readers"));
  }

  showValues(values) {
    this.fill(html("h2", {}, countText(values.length, "tensor")),
              this.list("", values, value => html("tr", {}, html("td", {}, this.link(this.graph.valueName(value), () => this.chooseValue(value))),
                                                  html("td", {}, html("code", {}, this.graph.type(value)))), "tensors"));
  }

  // A row: what the operator calls it, its type and sizes, and who is at its other end.
  tensor({value, name}, verb) {
    const {graph} = this, {values} = graph.data, lines = [html("code", {}, graph.type(value))];
    const elements = values.elements[value];
    if (elements) lines.push(html("code", {class: "soft"}, ` = ${graph.text(elements)}`));
    if (graph.isWeight(value)) lines.push(html("span", {class: "soft"}, ` weight, ${shortNumber(values.weight[value], "B")}`));
    const ends = verb === "made by" ? (graph.maker[value] >= 0 ? [graph.maker[value]] : []) : graph.readers[value];
    const line = html("div", {}, this.link(shortened(graph.valueName(value), 60), () => this.chooseValue(value)));
    const others = ends.length === 0 ? "" : html("div", {class: "soft"}, `${verb} `, this.nodeLink(ends[0]), ends.length > 1 ? ` and ${ends.length - 1} more` : "");
    return html("tr", {}, html("td", {class: "soft"}, name), html("td", {}, line, html("div", {}, ...lines), this.marksOf(graph.valueMarks(value)), others));
  }

  marksOf(marks) {
    const list = html("ul", {class: "marks"});
    for (const [kind, text] of marks)
      list.append(html("li", {class: kind}, html("b", {}, kMarkNames[kind]), text ? ` ${this.graph.text(text)}` : ""));
    return marks.length > 0 ? list : "";
  }

  facts(pairs) {
    const list = html("dl", {});
    for (const [name, value] of pairs) list.append(html("dt", {}, name), html("dd", {}, ...[value].flat()));
    return list;
  }

  // The first rows, the others when they are asked for.
  list(heading, entries, row, kind) {
    if (entries.length === 0) return "";
    const body = html("tbody", {}), box = html("section", {class: kind}, ...(heading ? [html("h3", {}, heading)] : []), html("table", {}, body));
    body.append(...entries.slice(0, kMostListed).map(row));
    if (entries.length > kMostListed) {
      const more = html("button", {type: "button", class: "link", onclick: () => { body.append(...entries.slice(kMostListed).map(row)); more.remove(); }},
                        `${(entries.length - kMostListed).toLocaleString("en")} more`);
      box.append(more);
    }
    return box;
  }

  link(text, onclick) { return html("button", {type: "button", class: "link", onclick}, text); }
  nodeLink(node) { return this.link(shortened(this.graph.nodeName(node), 60), () => this.go(node)); }
  fill(...children) {
    this.panel.replaceChildren(...children.filter(child => child !== ""));
    this.panel.scrollTop = 0;
  }
}
