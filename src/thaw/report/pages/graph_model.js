// The graph that lies in the page: names put together again, who makes and who reads a tensor, what is in a module.
//
// A place is what can be opened, named by a text: "m3" is a module, "n7" a node that runs several graphs, "m3:40-80"
// items 40 to 79 of a module that has too many to draw at once.
"use strict";

const kMostItems = 300;   // that are drawn at once
const kGroupItems = 100;  // that neighbours are put together in, where there are more

class Graph {
  constructor(data) {
    this.data = data;
    const {nodes, modules, values, graphs} = data;
    this.size = nodes.op.length;
    this.maker = new Int32Array(values.name.length).fill(-1);
    this.readers = values.name.map(() => []);
    this.entering = new Int32Array(values.name.length).fill(-1);  // the graph that a value is an input of
    this.leaving = new Map();                                     // the graphs that return a value
    nodes.out.forEach((list, node) => list.forEach(v => { if (v >= 0) this.maker[v] = node; }));
    nodes.in.forEach((list, node) => new Set(list).forEach(v => { if (v >= 0) this.readers[v].push(node); }));
    this.holder = graphs.map(() => -1);  // the node that runs it; of a function the first that calls it
    for (const [node, inside] of Object.entries(nodes.graphs))
      for (const g of inside) if (this.holder[g] < 0) this.holder[g] = Number(node);
    this.graphOfModule = new Int32Array(modules.parent.length);
    graphs.forEach((graph, g) => {
      this.graphOfModule[graph.module] = g;
      graph.in.forEach(v => { this.entering[v] = g; });
      graph.out.forEach(v => this.leaving.set(v, [...this.leaving.get(v) ?? [], g]));
    });
    this.readOrder();
    this.readModules();
    this.items = new Map();   // of places that were looked at
    this.totals = new Map();  // of items
  }

  // Where a node stands among the others: as in the file, but what depends on no input stands before its first reader.
  readOrder() {
    const {nodes} = this.data, isFixed = new Uint8Array(this.size);
    const isGiven = v => v < 0 || this.isWeight(v) || (this.maker[v] >= 0 && isFixed[this.maker[v]] === 1);
    for (let node = 0; node < this.size; ++node)
      isFixed[node] = this.graphsIn(node).length === 0 && nodes.in[node].every(isGiven) ? 1 : 0;
    this.order = Int32Array.from({length: this.size}, (_, node) => node);
    for (let node = this.size - 1; node >= 0; --node) {
      if (isFixed[node] === 0) continue;
      const readers = nodes.out[node].flatMap(v => v < 0 ? [] : this.readers[v].map(reader => this.order[reader]));
      if (readers.length > 0) this.order[node] = readers.reduce((a, b) => Math.min(a, b));
    }
  }

  // Modules inside each module, nodes right in it, and how many nodes there are at any depth. Parents come first.
  readModules() {
    const {parent} = this.data.modules, count = parent.length;
    this.inside = Array.from({length: count}, () => []);
    this.own = Array.from({length: count}, () => []);
    this.count = new Int32Array(count);
    this.first = new Int32Array(count).fill(this.size);  // in that order
    this.data.nodes.module.forEach((module, node) => {
      this.own[module].push(node);
      ++this.count[module];
      this.first[module] = Math.min(this.first[module], this.order[node]);
    });
    for (let m = 0; m < count; ++m) {
      if (parent[m] < 0) continue;
      this.inside[parent[m]].push(m);
      this.graphOfModule[m] = this.graphOfModule[parent[m]];
    }
    for (let m = count - 1; m >= 0; --m) {
      if (parent[m] < 0) continue;
      this.count[parent[m]] += this.count[m];
      this.first[parent[m]] = Math.min(this.first[parent[m]], this.first[m]);
    }
  }

  text(id) { return this.data.texts[id]; }
  op(node) { return this.text(this.data.nodes.op[node]); }
  marks(node) { return this.data.node_marks[node] ?? []; }
  valueMarks(value) { return this.data.value_marks[value] ?? []; }
  graphsIn(node) { return this.data.nodes.graphs[node] ?? []; }
  isWeight(value) { return value in this.data.values.weight; }

  moduleName(module) {
    let name = "";
    for (let m = module; m >= 0; m = this.data.modules.parent[m]) name = this.data.modules.name[m] + name;
    return name;
  }

  nodeName(node) {
    const own = this.data.nodes.name[node];
    return Array.isArray(own) ? own[0] : this.moduleName(this.data.nodes.module[node]) + own;
  }

  valueName(value) {
    const name = this.data.values.name[value];
    return typeof name === "string" ? name : `${this.nodeName(this.maker[value])}_output_${name}`;
  }

  // "float32 [batch, 3]", as far as it is known.
  sizes(value) { return this.text(this.data.values.shape[value]); }
  type(value) { return `${this.text(this.data.values.type[value])} ${this.sizes(value)}`.trim(); }

  // What is drawn as one box: {module}, {node} or, of neighbours, {base, from, to} in the place around them. A module
  // of one node is that node.
  itemOf(module) {
    let m = module;
    if (this.count[m] !== 1) return {module: m};
    while (this.own[m].length === 0) m = this.inside[m].find(inner => this.count[inner] === 1);
    return {node: this.own[m][0]};
  }

  // All that is in a module or in a node that runs graphs, in the order in which it first runs.
  allItems(place) {
    if (this.items.has(place)) return this.items.get(place);
    let items;
    if (place[0] === "n") {
      items = this.graphsIn(Number(place.slice(1))).map(g => ({module: this.data.graphs[g].module}));
    } else {
      const module = Number(place.slice(1));
      items = [...this.own[module].map(node => ({node, first: this.order[node]})),
               ...this.inside[module].map(m => ({...this.itemOf(m), first: this.first[m]}))];
      items.sort((a, b) => a.first - b.first || (a.node ?? a.first) - (b.node ?? b.first));
    }
    this.items.set(place, items);
    return items;
  }

  // What a place is drawn as: its items, or groups of them where they are too many. Groups end where few edges cross.
  itemsOf(place) {
    const [base, range] = place.split(":"), all = this.allItems(base);
    const [from, to] = range ? range.split("-").map(Number) : [0, all.length];
    if (to - from <= kMostItems) return all.slice(from, to);
    const cuts = this.cuts(base, from, to), groups = [];
    for (let i = 0; i + 1 < cuts.length; ++i) groups.push({base, from: cuts[i], to: cuts[i + 1]});
    return groups;
  }

  cuts(base, from, to) {
    const key = `${base}/${from}-${to}`;
    this.cutsOf ??= new Map();
    if (this.cutsOf.has(key)) return this.cutsOf.get(key);
    const all = this.allItems(base), size = Math.max(kGroupItems, Math.ceil((to - from) / kGroupItems));
    const at = new Int32Array(this.size).fill(-1);
    for (let i = from; i < to; ++i) this.eachNode(all[i], node => { at[node] = i; });
    // How many more tensors are needed behind a place than before it.
    const change = new Int32Array(to - from + 2);
    for (let i = from; i < to; ++i) {
      this.eachNode(all[i], node => {
        for (const v of this.data.nodes.out[node]) {
          let last = -1;
          if (v >= 0) for (const reader of this.readers[v]) last = Math.max(last, at[reader]);
          if (last > i) { ++change[i + 1 - from]; --change[last + 1 - from]; }
        }
      });
    }
    const crossing = new Int32Array(to - from + 2);
    for (let i = 1; i < crossing.length; ++i) crossing[i] = crossing[i - 1] + change[i];
    const cuts = [from];
    while (to - cuts[cuts.length - 1] > 1.4 * size) {
      const begin = cuts[cuts.length - 1];
      let best = begin + size;
      for (let i = begin + Math.ceil(0.7 * size); i <= begin + 1.3 * size && i < to; ++i)
        if (crossing[i - from] < crossing[best - from]) best = i;
      cuts.push(best);
    }
    cuts.push(to);
    this.cutsOf.set(key, cuts);
    return cuts;
  }

  // Calls visit(node, isInner) for each node of an item. Of the graphs that a node runs, those that only it runs are a
  // part of it.
  eachNode(item, visit, isInner = false) {
    if (item.node !== undefined) {
      visit(item.node, isInner);
      for (const g of this.graphsIn(item.node))
        if (!this.data.graphs[g].is_function) this.eachNode({module: this.data.graphs[g].module}, visit, true);
    } else if (item.module !== undefined) {
      const open = [item.module];
      while (open.length > 0) {
        const m = open.pop();
        for (const node of this.own[m]) this.eachNode({node}, visit, isInner);
        open.push(...this.inside[m]);
      }
    } else {
      const all = this.allItems(item.base);
      for (let i = item.from; i < item.to; ++i) this.eachNode(all[i], visit, isInner);
    }
  }

  // Where an item leads to; null for what cannot be opened.
  placeOf(item) {
    if (item.module !== undefined) return `m${item.module}`;
    if (item.node === undefined) return `${item.base}:${item.from}-${item.to}`;
    const graphs = this.graphsIn(item.node);
    if (graphs.length === 0) return null;
    return graphs.length === 1 ? `m${this.data.graphs[graphs[0]].module}` : `n${item.node}`;
  }

  itemAt(place) {
    const [base, range] = place.split(":");
    if (range) {
      const [from, to] = range.split("-").map(Number);
      return {base, from, to};
    }
    return base[0] === "m" ? {module: Number(base.slice(1))} : {node: Number(base.slice(1))};
  }

  isPlace(place) {
    const found = /^([mn])(\d+)(?::(\d+)-(\d+))?$/.exec(place);
    if (!found) return false;
    const id = Number(found[2]);
    if (found[1] === "n" ? id >= this.size || this.graphsIn(id).length < 2 : id >= this.own.length) return false;
    if (found[3] === undefined) return true;
    return this.pathTo(place).includes(place);
  }

  // The places on the way from the outermost one, itself the last.
  pathTo(place) {
    const [base, range] = place.split(":");
    const path = [...this.pathAround(base), base];
    if (!range) return path;
    const [from, to] = range.split("-").map(Number);
    return [...path, ...this.groupsAround(base, from, to)];
  }

  groupsAround(base, from, to) {
    const path = [];
    let begin = 0, end = this.allItems(base).length;
    while (end - begin > kMostItems && (begin < from || end > to)) {
      const cuts = this.cuts(base, begin, end), next = cuts.findIndex((cut, i) => cut <= from && to <= cuts[i + 1]);
      if (next < 0) break;
      [begin, end] = [cuts[next], cuts[next + 1]];
      path.push(`${base}:${begin}-${end}`);
    }
    return path;
  }

  pathAround(base) {
    const id = Number(base.slice(1));
    if (base[0] === "n") return this.pathToNode(id);
    const parent = this.data.modules.parent[id];
    if (parent >= 0) return this.pathToItem(`m${parent}`, item => item.module === id);
    const holder = this.holder[this.graphOfModule[id]];
    if (holder < 0) return [];
    const path = this.pathToNode(holder);
    return this.graphsIn(holder).length > 1 ? [...path, `n${holder}`] : path;
  }

  pathToItem(base, isIt) {
    const at = this.allItems(base).findIndex(isIt);
    return [...this.pathTo(base), ...(at < 0 ? [] : this.groupsAround(base, at, at + 1))];
  }

  // The places on the way to where a node is drawn.
  pathToNode(node) {
    let module = this.data.nodes.module[node];
    while (this.count[module] === 1 && this.data.modules.parent[module] >= 0) module = this.data.modules.parent[module];
    return this.pathToItem(`m${module}`, item => item.node === node);
  }

  // What a box or a place is called.
  title(item) {
    if (item.node !== undefined) return this.op(item.node).split(".").pop();
    if (item.module === undefined) return `${grouped(item.from + 1)} – ${grouped(item.to)}`;
    const graph = this.data.graphs[this.graphOfModule[item.module]];
    if (graph.module === item.module) return graph.title;
    return this.data.modules.name[item.module].replace(/^[/.]+/, "");
  }

  subtitle(item) {
    if (item.base !== undefined) {
      const all = this.allItems(item.base);
      return `${this.title(all[item.from])} … ${this.title(all[item.to - 1])}`;
    }
    if (item.node === undefined) return countText(this.total(item).nodes, "node");
    const own = this.data.nodes.name[item.node];
    const name = (Array.isArray(own) ? own[0] : own).replace(/^[/.]+/, "");
    const module = this.data.nodes.module[item.node];
    // A node that is alone in its module says little by itself.
    const around = this.count[module] === 1 && this.data.modules.parent[module] >= 0 ? this.title({module}) : "";
    return [around, name === this.title(item) ? "" : name].filter(part => part).join("/");
  }

  // What there is in an item: nodes, bytes of weights, each once, cost, and how many nodes have a mark of each kind.
  total(item) {
    const key = item.module !== undefined ? `m${item.module}` : item.node !== undefined ? `n${item.node}`
      : `${item.base}:${item.from}-${item.to}`;
    if (this.totals.has(key)) return this.totals.get(key);
    const {nodes, values} = this.data, weights = new Set(), marks = {};
    const total = {nodes: 0, weights: 0, flops: 0, bytes: 0, unknown: 0, marks};
    this.eachNode(item, (node, isInner) => {
      ++total.nodes;
      for (const v of nodes.in[node]) if (v >= 0 && this.isWeight(v)) weights.add(v);
      for (const kind of new Set(this.marks(node).map(mark => mark[0]))) marks[kind] = (marks[kind] ?? 0) + 1;
      if (isInner) return;  // its cost is in that of the node that runs it, as often as it is run
      total.flops += nodes.flops[node] ?? 0;
      total.bytes += nodes.bytes[node] ?? 0;
      total.unknown += nodes.flops[node] === null;
    });
    for (const v of weights) total.weights += values.weight[v];
    this.totals.set(key, total);
    return total;
  }
}
