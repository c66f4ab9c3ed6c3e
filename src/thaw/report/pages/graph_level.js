// What a place shows: its items as boxes, the tensors that go from one to the other, and those that come in from
// outside or go out.
"use strict";

const kMostPorts = 24;  // tensors from outside that are drawn one by one, and as many to outside

// Boxes are {item} or {port, value, values}, in an order in which tensors go down as far as there is one; links are
// {from, to, values}, where values is a Map of tensors to "added", "removed" or "".
function levelAt(graph, place) {
  const items = graph.itemsOf(place), {nodes} = graph.data;
  const owner = new Int32Array(graph.size).fill(-1);
  items.forEach((item, i) => graph.eachNode(item, node => { owner[node] = i; }));
  const here = graphShown(graph, place);
  const links = new Map(), incoming = new Map(), outgoing = new Map();

  const add = (list, key, make, value, state) => {
    if (!list.has(key)) list.set(key, make());
    const values = list.get(key).values;
    // A tensor that one node still reads is not gone.
    if (!values.has(value) || values.get(value) === "removed") values.set(value, state);
  };
  const read = (value, i, state) => {
    if (value < 0 || graph.isWeight(value)) return;
    const maker = graph.maker[value];
    const from = maker >= 0 ? maker : graph.entering[value] < 0 ? -1 : graph.holder[graph.entering[value]];
    const j = from < 0 ? -1 : owner[from];
    if (j === i) return;
    if (j >= 0) add(links, `${j} ${i}`, () => ({from: j, to: i, values: new Map()}), value, state);
    else add(incoming, `${value} ${i}`, () => ({value, to: i, values: new Map()}), value, state);
  };

  items.forEach((item, i) => graph.eachNode(item, node => {
    const change = changeOf(graph, node), former = graph.data.former_inputs[node];
    const before = former && new Set(former), now = new Set(nodes.in[node]);
    for (const value of now) read(value, i, change || (before && !before.has(value) ? "added" : ""));
    if (before) for (const value of before) if (!now.has(value)) read(value, i, "removed");
    for (const value of nodes.out[node]) {
      if (value < 0) continue;
      const isResult = (graph.leaving.get(value) ?? []).includes(here);
      if (isResult || graph.readers[value].some(reader => owner[reader] < 0))
        add(outgoing, `${value} ${i}`, () => ({value, from: i, isResult, values: new Map()}), value, change);
    }
  }));
  // Inputs of the graph that nothing of it reads stand there too.
  if (place === `m${graph.data.graphs[here].module}`) {
    const isRead = new Set([...incoming.values()].map(port => port.value));
    for (const value of graph.data.graphs[here].in)
      if (!isRead.has(value)) incoming.set(`${value} -`, {value, to: -1, values: new Map()});
  }
  return {place, items, ...withPorts(graph, items, links, incoming, outgoing)};
}

// The graph whose tensors a place is drawn from.
function graphShown(graph, place) {
  const base = place.split(":")[0], id = Number(base.slice(1));
  return base[0] === "m" ? graph.graphOfModule[id] : graph.graphOfModule[graph.data.nodes.module[id]];
}

function changeOf(graph, node) {
  for (const [kind] of graph.marks(node)) if (kind === "added" || kind === "removed") return kind;
  return "";
}

// Ports stand before and behind the items; those beyond the first few share one.
function withPorts(graph, items, links, incoming, outgoing) {
  const before = portsOf(graph, incoming, "in"), behind = portsOf(graph, outgoing, "out");
  const boxes = [...before.ports, ...items.map(item => ({item})), ...behind.ports];
  const shift = before.ports.length, all = [];
  for (const link of links.values()) all.push({...link, from: link.from + shift, to: link.to + shift});
  const ends = new Map();  // several tensors of a shared port go to one item
  const join = (from, to, values) => {
    const key = `${from} ${to}`;
    if (!ends.has(key)) { ends.set(key, {from, to, values: new Map()}); all.push(ends.get(key)); }
    for (const [value, state] of values) ends.get(key).values.set(value, state);
  };
  for (const port of incoming.values())
    if (port.to >= 0) join(before.at.get(port.value), port.to + shift, port.values);
  for (const port of outgoing.values())
    join(port.from + shift, behind.at.get(port.value) + shift + items.length, port.values);
  return {boxes, links: all, shift};
}

function portsOf(graph, entries, kind) {
  const values = [...new Set([...entries.values()].map(entry => entry.value))];
  // Inputs and outputs of the graph were met first, in their order.
  values.sort(kind === "in" ? (a, b) => graph.maker[a] - graph.maker[b] || a - b : (a, b) => a - b);
  const one = values.length > kMostPorts ? values.slice(0, kMostPorts - 1) : values;
  const ports = one.map(value => ({port: kind, value, values: [value]}));
  const at = new Map(one.map((value, i) => [value, i]));
  if (values.length > one.length) {
    const rest = values.slice(one.length);
    for (const value of rest) at.set(value, ports.length);
    ports.push({port: kind, value: -1, values: rest});
  }
  return {ports, at};
}
