// What is known of the place that is open, or of the node or tensor that was chosen in it.
"use strict";

const kMostListed = 40;  // rows that are shown before they are asked for

class Details {
  // go(node), open(place), chooseValue(value): where a link leads.
  constructor(panel, graph, {go, open, chooseValue}) {
    Object.assign(this, {panel, graph, go, open, chooseValue});
  }

  // A place: what it costs, what is marked in it, and what it holds, the greatest first.
  showPlace(place, measure) {
    const {graph} = this, {modules, assumed} = graph.data, item = graph.itemAt(place), total = graph.total(item);
    const {module} = item, isModule = module !== undefined;
    const name = isModule && modules.parent[module] >= 0 ? graph.moduleName(module) : "";
    const isAll = module === graph.data.graphs[0].module && graph.data.constants > 0;
    const constants = isAll ? ` and ${countText(graph.data.constants, "constant")}` : "";
    const facts = [["nodes", grouped(total.nodes) + constants], ["weights", shortNumber(total.weights, "B")],
                   ["operations", this.cost(total.flops, isModule ? modules.flops[module] : 0, "", total.unknown)],
                   ["bytes moved", this.cost(total.bytes, isModule ? modules.bytes[module] : 0, "B")]];
    this.fill(html("h2", {}, graph.title(item)), name ? html("p", {class: "name"}, name) : "", this.facts(facts),
              assumed && total.flops + total.bytes > 0 ? html("p", {class: "soft"}, `numbers at ${assumed}`) : "",
              ...this.marked(item), this.contents(graph.itemsOf(place), measure));
  }

  // A number at the sizes that are assumed, and the expression that it comes from.
  cost(number, text, unit = "", unknown = 0) {
    const others = unknown > 0 ? ` and what ${countText(unknown, "node")} take${unknown === 1 ? "s" : ""}` : "";
    const shown = shortNumber(number, unit) + others;
    return text ? [shown, html("code", {class: "expression"}, this.graph.text(text))] : shown;
  }

  // The marked nodes in an item, by what is marked at them.
  marked(item) {
    const {graph} = this, nodes = {};
    graph.eachNode(item, node => {
      for (const kind of new Set(graph.marks(node).map(mark => mark[0]))) (nodes[kind] ??= []).push(node);
    });
    const line = node => row([html("b", {}, graph.title({node})), " ", this.nodeLink(node)]);
    return Object.entries(nodes).map(([kind, list]) =>
      this.list(`${kMarkNames[kind]}: ${countText(list.length, "node")}`, list, line, kind));
  }

  contents(items, measure) {
    const {graph} = this, unit = measure === "flops" || measure === "nodes" ? "" : "B";
    const amounts = new Map(items.map(item => [item, graph.total(item)[measure]]));
    const all = [...amounts.values()].reduce((sum, amount) => sum + amount, 0);
    const number = text => html("td", {class: "number"}, text);
    const line = item => {
      const amount = amounts.get(item), share = amount > 0 ? `${(100 * amount / all).toFixed(1)} %` : "";
      const name = button(shortened(graph.title(item), 40), () => this.enter(item));
      return html("tr", {}, html("td", {}, name, " ", soft(item.module !== undefined ? "" : graph.subtitle(item))),
                  number(amount > 0 ? shortNumber(amount, unit) : ""), number(share));
    };
    return this.list("in here", [...items].sort((a, b) => amounts.get(b) - amounts.get(a)), line, "contents");
  }

  enter(item) {
    const place = this.graph.placeOf(item);
    if (place === null) this.go(item.node);
    else this.open(place);
  }

  showNode(node) {
    const {graph} = this, {nodes, operands} = graph.data, around = graph.pathToNode(node).pop();
    const names = operands[nodes.op[node]] ?? [];
    const inputs = nodes.in[node].map((value, i) => ({value, name: names[Math.min(i, names.length - 1)] ?? `${i}`}));
    const outputs = nodes.out[node].map((value, i) => ({value, name: `${i}`}));
    const tensors = (heading, list, verb) =>
      this.list(heading, list.filter(tensor => tensor.value >= 0), tensor => this.tensor(tensor, verb), "tensors");
    const cost = (number, text, unit) => number === null ? "not known" : this.cost(number, text, unit);
    const home = button(graph.title(graph.itemAt(around)), () => this.open(around));
    this.fill(html("h2", {}, graph.op(node)), html("p", {class: "name"}, graph.nodeName(node)),
              html("p", {}, "in ", home, ...this.runs(node)), this.marksOf(graph.marks(node)),
              tensors("inputs", inputs, "made by"), tensors("outputs", outputs, "read by"),
              this.list("attributes", nodes.attributes[node] ?? [], id => row(code(graph.text(id))), "attributes"),
              this.facts([["operations", cost(nodes.flops[node], nodes.flops_text[node], "")],
                          ["bytes moved", cost(nodes.bytes[node], nodes.bytes_text[node], "B")],
                          ["weights", shortNumber(graph.total({node}).weights, "B")]]));
  }

  runs(node) {
    const link = ({title, module}) => button(title, () => this.open(`m${module}`));
    return this.graph.graphsIn(node).flatMap(g => [", runs ", link(this.graph.data.graphs[g])]);
  }

  showValue(value) {
    const {graph} = this, maker = graph.maker[value], name = graph.valueName(value);
    this.fill(html("h2", {}, lastPart(name)), html("p", {class: "name"}, name), html("p", {}, code(graph.type(value))),
              this.marksOf(graph.valueMarks(value)), maker >= 0 ? html("p", {}, "made by ", this.nodeLink(maker)) : "",
              this.list("read by", graph.readers[value], node => row(this.nodeLink(node)), "readers"));
  }

  showValues(values) {
    const line = value => row(this.valueLink(value), code(this.graph.type(value)));
    this.fill(html("h2", {}, countText(values.length, "tensor")), this.list("", values, line, "tensors"));
  }

  // A row: what the operator calls it, its type and sizes, and who is at its other end.
  tensor({value, name}, verb) {
    const {graph} = this, {elements, weight} = graph.data.values, what = [code(graph.type(value))];
    if (elements[value]) what.push(html("code", {class: "soft"}, ` = ${graph.text(elements[value])}`));
    if (graph.isWeight(value)) what.push(soft(` weight, ${shortNumber(weight[value], "B")}`));
    const ends = verb === "read by" ? graph.readers[value] : graph.maker[value] >= 0 ? [graph.maker[value]] : [];
    const more = ends.length > 1 ? ` and ${ends.length - 1} more` : "";
    const others = ends.length > 0 ? html("div", {class: "soft"}, `${verb} `, this.nodeLink(ends[0]), more) : "";
    return row(soft(name), [html("div", {}, this.valueLink(value)), html("div", {}, ...what),
                            this.marksOf(graph.valueMarks(value)), others]);
  }

  marksOf(marks) {
    if (marks.length === 0) return "";
    return html("ul", {class: "marks"}, ...marks.map(([kind, text]) =>
      html("li", {class: kind}, html("b", {}, kMarkNames[kind]), text ? ` ${this.graph.text(text)}` : "")));
  }

  facts(pairs) {
    const pair = ([name, value]) => [html("dt", {}, name), html("dd", {}, ...[value].flat())];
    return html("dl", {}, ...pairs.flatMap(pair));
  }

  // The first rows, the others when they are asked for.
  list(heading, entries, line, kind) {
    if (entries.length === 0) return "";
    const body = html("tbody", {}, ...entries.slice(0, kMostListed).map(line)), rest = entries.slice(kMostListed);
    const section = html("section", {class: kind}, heading ? html("h3", {}, heading) : "", html("table", {}, body));
    if (rest.length === 0) return section;
    const more = button(`${grouped(rest.length)} more`, () => {
      body.append(...rest.map(line));
      more.remove();
    });
    section.append(more);
    return section;
  }

  nodeLink(node) { return button(shortened(this.graph.nodeName(node), 60), () => this.go(node)); }
  valueLink(value) { return button(shortened(this.graph.valueName(value), 60), () => this.chooseValue(value)); }

  fill(...children) {
    this.panel.replaceChildren(...children.filter(child => child !== ""));
    this.panel.scrollTop = 0;
  }
}
