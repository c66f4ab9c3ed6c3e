// Puts the page of a graph together. What is open stands in the address behind #, so that the browser's way back leads
// back.
"use strict";
{
  const at = id => document.getElementById(id);
  const graph = new Graph(JSON.parse(at("graph").textContent));
  const measure = at("measure");
  let place = "", level = null;

  const picture = new Picture(at("stage"), graph, {
    onOpen: box => open(graph.placeOf(box.item)),
    onSelect: box => {
      if (box.item) details.showNode(box.item.node);
      else if (box.value >= 0) details.showValue(box.value);
      else details.showValues(box.values);
      note(box.item ? `/n${box.item.node}` : "");
    }});
  followGestures(picture);
  const details = new Details(at("details"), graph, {go, open, chooseValue});
  const search = new Search(at("search"), at("found"), graph, {go, chooseValue, mark: markFound});
  let foundNodes = null;

  function open(next) {
    if (location.hash === `#${next}`) follow();
    else location.hash = next;
  }
  function note(rest) { history.replaceState(null, "", `#${place}${rest}`); }

  // To the place where a node is drawn.
  function go(node) {
    const path = graph.pathToNode(node);
    open(`${path[path.length - 1]}/n${node}`);
  }

  // A tensor is shown at who makes it, or reads it.
  function chooseValue(value) {
    const node = graph.maker[value] >= 0 ? graph.maker[value] : graph.readers[value][0];
    if (node === undefined) return details.showValue(value);
    const path = graph.pathToNode(node);
    open(`${path[path.length - 1]}/v${value}`);
  }

  function show(next) {
    if (next === place) return;
    place = next;
    level = levelAt(graph, place);
    picture.show(level, measure.value);
    showPath();
    showNotes();
    markBoxes();
  }

  function showPath() {
    const path = graph.pathTo(place);
    const steps = path.map((step, i) => {
      const title = shortened(graph.title(graph.itemAt(step)), 44);
      return i + 1 < path.length ? button(title, () => open(step)) : html("b", {"aria-current": "location"}, title);
    });
    at("path").replaceChildren(...steps.flatMap((step, i) => i === 0 ? [step] : [" › ", step]));
  }

  function showNotes() {
    const notes = [...graph.data.limits];
    if (level.items.some(item => item.base !== undefined)) {
      const [base, range] = place.split(":"), [from, to] = range ? range.split("-") : [0, graph.allItems(base).length];
      notes.push(`${grouped(to - from)} boxes are too many to draw at once: they are drawn in ` +
                 `${level.items.length} groups of neighbours, which open.`);
    }
    const kinds = new Set(level.items.flatMap(item => Object.keys(graph.total(item).marks)));
    const legend = [...kinds].map(kind => html("span", {class: `key ${kind}`}, kMarkNames[kind]));
    at("notes").replaceChildren(...(legend.length > 0 ? [html("p", {class: "legend"}, ...legend)] : []),
                                ...notes.map(text => html("p", {class: "soft"}, text)));
  }

  // "m3/n17": a place, and what is chosen in it.
  function follow() {
    const [wanted, chosen] = location.hash.slice(1).split("/");
    show(graph.isPlace(wanted) ? wanted : `m${graph.data.graphs[0].module}`);
    const [kind, id] = chosen ? [chosen[0], Number(chosen.slice(1))] : ["", -1];
    if (kind === "v" && id >= 0 && id < graph.maker.length) {
      details.showValue(id);
      const node = graph.maker[id] >= 0 ? graph.maker[id] : graph.readers[id][0];
      return choose(node);
    }
    if (kind === "n" && id >= 0 && id < graph.size) {
      details.showNode(id);
      return choose(id);
    }
    picture.select(-1);
    details.showPlace(place, measure.value);
  }

  function choose(node) {
    const i = level.boxes.findIndex(box => box.item?.node === node);
    picture.select(i);
    if (i >= 0) picture.reveal(i);
  }

  function markFound(nodes) {
    foundNodes = nodes === null ? null : new Set(nodes);
    markBoxes();
  }

  function markBoxes() {
    if (foundNodes === null) return picture.mark(null);
    const boxes = new Set();
    level.boxes.forEach((box, i) => {
      if (box.item) graph.eachNode(box.item, node => { if (foundNodes.has(node)) boxes.add(i); });
      else if (box.values.some(value => foundNodes.has(graph.maker[value]))) boxes.add(i);
    });
    picture.mark(boxes);
  }

  at("viewer").hidden = false;
  addEventListener("hashchange", follow);
  measure.addEventListener("change", () => {
    picture.draw(measure.value);
    picture.zoomTo(picture.scale);
    markBoxes();
    details.showPlace(place, measure.value);
  });
  at("smaller").addEventListener("click", () => picture.zoomTo(picture.scale * 0.8));
  at("larger").addEventListener("click", () => picture.zoomTo(picture.scale * 1.25));
  at("fit").addEventListener("click", () => picture.fit());
  addEventListener("keydown", event => {
    if (event.target.closest("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    const path = graph.pathTo(place);
    if (event.key === "/") at("search").focus();
    else if (event.key === "Backspace" && path.length > 1) open(path[path.length - 2]);
    else if (event.key === "Escape") { search.close(); open(place); }
    else return;
    event.preventDefault();
  });
  follow();
}
