// Draws the page of thaw sensitivity from the report that lies in it. Names are anybody's: they are set as text, never as markup.
"use strict";
(() => {
const report = JSON.parse(document.getElementById("report").textContent);
const kWorst = 25;
const kFigures = {mse: 0, cosine: 1, kl: 2, sqnr: 3};
const chosen = {to: document.getElementById("to"), metric: document.getElementById("metric")};
const charts = new Map();

const color = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const isDecibels = () => chosen.metric.value === "sqnr";
const figureIn = figures => figures ? figures[kFigures[chosen.metric.value]] : null;
const textOf = x => x === null ? "" : isDecibels() ? x.toFixed(1) + " dB" : x < 1e-3 ? x.toExponential(2) : x.toPrecision(3);
const megabytes = x => (x / 1e6).toFixed(x < 1e7 ? 2 : 1);

// The chosen precision's entries: one for each unit, in the model's order.
function entries() {
  const to = Number(chosen.to.value);
  return report.errors.filter(e => e.to === to).map(e => ({
    ...e, unit: report.units[e.unit], figure: figureIn(e.in), low: figureIn(e.low), high: figureIn(e.high)}));
}

// What lies between the ends of an interval, over the bars of a chart.
const intervals = {
  id: "intervals",
  afterDatasetsDraw(chart) {
    const shown = chart.$shown;
    if (!shown) return;
    const across = chart.options.indexAxis === "y", scale = across ? chart.scales.x : chart.scales.y;
    const bars = chart.getDatasetMeta(0).data, pen = chart.ctx;
    pen.save();
    pen.strokeStyle = color("ink");
    pen.lineWidth = 1;
    shown.forEach((e, i) => {
      if (e.figure === null || e.low === null || e.low === e.high || !bars[i]) return;
      const a = scale.getPixelForValue(e.low), b = scale.getPixelForValue(e.high), at = across ? bars[i].y : bars[i].x;
      pen.beginPath();
      if (across) { pen.moveTo(a, at); pen.lineTo(b, at); } else { pen.moveTo(at, a); pen.lineTo(at, b); }
      pen.stroke();
    });
    pen.restore();
  }
};

// Of a logarithmic axis, 1, 2 and 5 of each decade have a name.
function tick(x) {
  const [digits, power] = x.toExponential(6).split("e"), first = Number(digits);
  return [1, 2, 5].includes(first) ? `${first}e${Number(power)}` : "";
}

function axis(title, isLog) {
  const ticks = {color: color("soft"), maxRotation: 0, autoSkip: true};
  if (isLog) ticks.callback = tick;
  return {type: isLog ? "logarithmic" : "linear", title: {display: true, text: title, color: color("soft")},
          ticks, grid: {color: color("line")}};
}

function draw(id, config, shown) {
  charts.get(id)?.destroy();
  Chart.defaults.animation = false;
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  config.plugins = [intervals];
  const chart = new Chart(document.getElementById(id), config);
  chart.$shown = shown;
  chart.draw();
  charts.set(id, chart);
}

function bars(id, shown, across) {
  const value = axis(chosen.metric.selectedOptions[0].textContent, !isDecibels());
  const names = axis("", false);
  names.type = "category";
  names.grid = {display: false};
  const most = innerWidth < 600 ? 22 : 48, front = Math.floor(most / 2);
  names.ticks.callback = i => {
    const name = shown[i].unit.name;
    return !across ? "" : name.length > most ? `${name.slice(0, front)}…${name.slice(front + 1 - most)}` : name;
  };
  names.ticks.autoSkip = !across;
  if (!across) names.title = {display: true, text: "nodes, in the model's order", color: color("soft")};
  const least = Math.min(...shown.map(e => e.low ?? e.figure).filter(x => x > 0));
  if (!isDecibels() && Number.isFinite(least)) value.min = least / 2;
  draw(id, {
    type: "bar",
    data: {labels: shown.map(e => e.unit.name),
           datasets: [{data: shown.map(e => e.figure), minBarLength: 1, borderWidth: 1,
                       borderColor: color("mark"),
                       backgroundColor: shown.map(e => color(e.status === "predicted" ? "mark-soft" : "mark"))}]},
    options: {
      indexAxis: across ? "y" : "x", responsive: true, maintainAspectRatio: false,
      scales: across ? {x: value, y: names} : {x: names, y: value},
      plugins: {legend: {display: false}, tooltip: {callbacks: {label: at => {
        const e = shown[at.dataIndex];
        const range = e.low === null || e.low === e.high ? "" : ` (${textOf(e.low)} to ${textOf(e.high)})`;
        return `${textOf(e.figure)}${range}, ${e.status}, saves ${megabytes(e.saves)} MB`;
      }}}}
    }}, shown);
}

function drawErrors() {
  const all = entries();
  const known = all.filter(e => e.figure !== null);
  bars("in-order", all, false);
  const sorted = [...known].sort((a, b) => isDecibels() ? a.figure - b.figure : b.figure - a.figure).slice(0, kWorst);
  document.getElementById("sorted").parentElement.style.height = 4 + 1.5 * sorted.length + "rem";
  bars("sorted", sorted, true);
  drawHeat(all);
}

// The mean over the nodes of a layer and a kind; deeper where more is lost.
function drawHeat(all) {
  const table = document.getElementById("heat");
  const layers = [...new Set(all.map(e => e.unit.layer))], kinds = [...new Set(all.map(e => e.unit.kind))];
  const cells = new Map();
  for (const e of all) {
    const key = JSON.stringify([e.unit.layer, e.unit.kind]);
    if (!cells.has(key)) cells.set(key, []);
    cells.get(key).push(e);
  }
  const means = new Map();
  for (const [key, inside] of cells) {
    const figures = inside.map(e => e.figure).filter(x => x !== null);
    means.set(key, figures.length ? figures.reduce((a, b) => a + b, 0) / figures.length : null);
  }
  const scaled = x => isDecibels() ? -x : Math.log(x);
  const known = [...means.values()].filter(x => x !== null && (isDecibels() || x > 0)).map(scaled);
  const least = Math.min(...known), most = Math.max(...known);
  const head = table.createTHead(), body = document.createElement("tbody");
  head.replaceChildren();
  table.querySelectorAll("tbody").forEach(old => old.remove());
  table.append(body);
  const row = head.insertRow();
  for (const text of ["", ...kinds]) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = text;
    row.append(cell);
  }
  for (const layer of layers) {
    const line = body.insertRow(), name = document.createElement("th");
    name.scope = "row";
    name.textContent = layer || "(in no layer)";
    name.title = name.textContent;
    line.append(name);
    for (const kind of kinds) {
      const cell = line.insertCell(), key = JSON.stringify([layer, kind]);
      if (!means.has(key)) continue;
      const mean = means.get(key);
      cell.textContent = mean === null ? "failed" : textOf(mean);
      cell.title = cells.get(key).map(e => e.unit.name).join("\n");
      if (mean === null) continue;
      const share = !(most > least) ? 0 : isDecibels() || mean > 0 ? (scaled(mean) - least) / (most - least) : 0;
      cell.dataset.share = share.toFixed(3);
      cell.style.background = `rgba(${color("heat")}, ${(0.06 + 0.5 * share).toFixed(3)})`;
    }
  }
}

function drawFrontier() {
  const figure = point => isDecibels() || figureIn(point.figures) > 0 ? figureIn(point.figures) : null;
  const at = points => points.map(p => ({x: p.bytes / 1e6, y: figure(p), name: p.name})).filter(p => p.y !== null);
  const sets = [{label: "best plans, predicted", data: at(report.frontier), showLine: true, borderColor: color("mark"),
                 backgroundColor: color("mark"), pointRadius: 2},
                {label: "all nodes in one precision, measured", data: at(report.all), borderColor: color("ink"),
                 backgroundColor: color("ink"), pointStyle: "rectRot", pointRadius: 6}];
  for (const point of report.plan)
    sets.push({label: point.name, data: at([point]), borderColor: color("chosen"), backgroundColor: color("chosen"),
               pointStyle: point.is_measured ? "star" : "circle", pointRadius: 7, borderWidth: 2});
  draw("frontier", {
    type: "scatter", data: {datasets: sets},
    options: {responsive: true, maintainAspectRatio: false,
              scales: {x: axis("weights, MB", false), y: axis(chosen.metric.selectedOptions[0].textContent, !isDecibels())},
              plugins: {legend: {labels: {color: color("ink"), usePointStyle: true}},
                        tooltip: {callbacks: {label: p => `${p.raw.name ?? p.dataset.label}: ${p.raw.x.toFixed(2)} MB, ${textOf(p.raw.y)}`}}}}
  });
}

// The table is there without a script; with one it is sorted by its heads and searched.
function readTable() {
  const table = document.getElementById("nodes"), body = table.tBodies[0], rows = [...body.rows];
  table.classList.add("sortable");
  const heads = [...table.tHead.rows[0].cells], search = document.getElementById("search");
  const isNumeric = heads.map((_, i) => rows.some(row => row.cells[i].querySelector("data")));
  const valueIn = (row, i) => {
    if (!isNumeric[i]) return row.cells[i].textContent;
    return Number(row.cells[i].querySelector("data")?.value ?? NaN);
  };
  heads.forEach((head, i) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sorted = rows.map((row, at) => ({row, at, value: valueIn(row, i)}));
      sorted.sort((a, b) => {
        if (!isNumeric[i]) {
          const order = a.value.localeCompare(b.value, undefined, {numeric: true});
          return (down ? -order : order) || a.at - b.at;
        }
        if (Number.isNaN(a.value) || Number.isNaN(b.value)) return Number.isNaN(a.value) - Number.isNaN(b.value) || a.at - b.at;
        return (down ? b.value - a.value : a.value - b.value) || a.at - b.at;
      });
      body.append(...sorted.map(entry => entry.row));
    });
  });
  const texts = new Map(rows.map(row => [row, row.textContent.toLowerCase()]));
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const row of rows) {
      row.hidden = !words.every(word => texts.get(row).includes(word));
      shown += !row.hidden;
    }
    document.getElementById("shown").textContent = `${shown} of ${rows.length}`;
  };
  search.addEventListener("input", filter);
  filter();
}

const drawAll = () => { drawErrors(); drawFrontier(); };
document.querySelectorAll(".controls").forEach(controls => { controls.hidden = false; });
chosen.to.addEventListener("change", drawErrors);
chosen.metric.addEventListener("change", drawAll);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
readTable();
drawAll();
})();
