// Layers, as Sugiyama, Tagawa and Toda draw a graph: each box as far down as the longest way to it, few crossings by
// barycenters, and places as near to those of the neighbours as there is room. What a box gives to several others goes
// down in one line as long as it can.
"use strict";

const kBetween = 18;     // boxes side by side
const kTrunk = 12;       // lines side by side
const kBelow = 30;       // a box and what is below it
const kLabelLine = 14;
const kMargin = 16;
const kMostSweptCells = 20000;

// boxes: [{width, height, labels: number of lines below it, labelWidth}]; links: [{from, to}]. Gives each box x and y,
// its middle and top, each link `points`, and the size of all.
function layOut(boxes, links) {
  const down = boxes.map(() => []), up = boxes.map(() => []);
  for (const link of links) {
    link.isBack = link.from > link.to;  // around a cycle, one line goes up
    const [above, below] = link.isBack ? [link.to, link.from] : [link.from, link.to];
    down[above].push(below);
    up[below].push(above);
  }
  const layer = layersOf(down, up);
  const cells = cellsOf(boxes, layer, down);
  order(cells.layers, cells.count > kMostSweptCells ? 2 : 8);
  placeAcross(cells.layers);
  return placeDown(boxes, links, layer, cells);
}

function layersOf(down, up) {
  const layer = new Int32Array(down.length);
  down.forEach((list, box) => list.forEach(below => { layer[below] = Math.max(layer[below], layer[box] + 1); }));
  // What nothing comes from goes down to who reads it.
  up.forEach((list, box) => {
    if (list.length === 0 && down[box].length > 0) layer[box] = Math.min(...down[box].map(below => layer[below])) - 1;
  });
  return layer;
}

// A cell is a box, or where a line passes a layer. Lines of one box to layers further down share theirs.
function cellsOf(boxes, layer, down) {
  const layers = Array.from({length: Math.max(0, ...layer) + 1}, () => []);
  let count = 0;
  const make = (at, box, width) => {
    const cell = {layer: at, box, half: width / 2, up: [], down: [], x: 0, rank: 0};
    layers[at].push(cell);
    ++count;
    return cell;
  };
  const ofBox = boxes.map((box, i) => make(layer[i], i, Math.max(box.width, box.labelWidth)));
  const trunks = boxes.map(() => []);  // of each box, the cells of its line, by layer from the one below it
  const connect = (above, below) => { above.down.push(below); below.up.push(above); };
  down.forEach((list, i) => {
    let last = ofBox[i];
    const furthest = Math.max(layer[i], ...list.map(below => layer[below]));
    for (let at = layer[i] + 1; at < furthest; ++at) {
      const cell = make(at, -1, 0);
      trunks[i].push(cell);
      connect(last, cell);
      last = cell;
    }
    for (const below of new Set(list)) {
      const passed = layer[below] - layer[i] - 1;
      connect(passed === 0 ? ofBox[i] : trunks[i][passed - 1], ofBox[below]);
    }
  });
  return {layers, ofBox, trunks, count};
}

function order(layers, sweeps) {
  const number = cells => cells.forEach((cell, i) => { cell.rank = i; });
  layers.forEach(number);
  const arrange = (cells, side) => {
    for (const cell of cells) {
      const near = cell[side];
      cell.wish = near.length === 0 ? cell.rank : near.reduce((sum, other) => sum + other.rank, 0) / near.length;
    }
    cells.sort((a, b) => a.wish - b.wish || a.rank - b.rank);
    number(cells);
  };
  let best = layers.map(cells => [...cells]), fewest = crossings(layers);
  for (let sweep = 0; sweep < sweeps && fewest > 0; ++sweep) {
    if (sweep % 2 === 0) for (let i = 1; i < layers.length; ++i) arrange(layers[i], "up");
    else for (let i = layers.length - 2; i >= 0; --i) arrange(layers[i], "down");
    const now = crossings(layers);
    if (now < fewest) [best, fewest] = [layers.map(cells => [...cells]), now];
  }
  best.forEach((cells, i) => { layers[i] = cells; number(cells); });
}

// Pairs of lines between two layers that stand in another order below than above: counted by a tree of partial sums.
function crossings(layers) {
  let count = 0;
  for (let i = 0; i + 1 < layers.length; ++i) {
    const size = layers[i + 1].length, sums = new Int32Array(size + 1);
    let all = 0;
    for (const cell of layers[i]) {
      const ends = cell.down.map(other => other.rank).sort((a, b) => a - b);
      for (const end of ends) {
        let before = 0;
        for (let k = end + 1; k > 0; k -= k & -k) before += sums[k];
        count += all - before;
      }
      for (const end of ends) {
        ++all;
        for (let k = end + 1; k <= size; k += k & -k) ++sums[k];
      }
    }
  }
  return count;
}

// What turns a way: other boxes and lines that are its alone; not what ends beside it, and no line that passes by.
function turning(cell, side) {
  const back = side === "up" ? "down" : "up", some = (list, isWanted) => {
    const wanted = list.filter(isWanted);
    return wanted.length > 0 ? wanted : list;
  };
  const own = some(cell[side], other => cell.box >= 0 === other.box >= 0 || other[back].length === 1);
  return some(own, other => other.box < 0 || other[side].length > 0);
}

function placeAcross(layers) {
  const middle = (cell, near) => near.length > 0 ? near.reduce((sum, other) => sum + other.x, 0) / near.length : cell.x;
  for (const cells of layers) {
    for (const cell of cells) cell.turning = {up: turning(cell, "up"), down: turning(cell, "down")};
    spread(cells, cells.map(() => 0));
  }
  const rounds = layers.length > 400 ? 6 : 16;
  for (let round = 0; round < rounds; ++round) {
    const side = round % 2 === 0 ? "up" : "down", other = side === "up" ? "down" : "up";
    const wish = ({turning}) => turning[side].length > 0 ? turning[side] : turning[other];
    for (const cells of side === "up" ? layers : [...layers].reverse())
      spread(cells, cells.map(cell => middle(cell, wish(cell))));
  }
  // Between both sides in the end.
  for (let round = 0; round < 4; ++round)
    for (const cells of layers)
      spread(cells, cells.map(cell => middle(cell, [...cell.turning.up, ...cell.turning.down])));
}

// Puts cells where they wish to be, as near as their order and widths allow: least squares, by pooling neighbours that
// are in each other's way.
function spread(cells, wishes) {
  const offsets = [];
  cells.forEach((cell, i) => {
    const before = cells[i - 1];
    const gap = before && before.box < 0 && cell.box < 0 ? kTrunk : kBetween;
    offsets.push(i === 0 ? 0 : offsets[i - 1] + before.half + cell.half + gap);
  });
  const pools = [];
  cells.forEach((cell, i) => {
    const weight = cell.box < 0 ? 1 : 2;
    pools.push({sum: (wishes[i] - offsets[i]) * weight, weight, size: 1});
    while (pools.length > 1) {
      const [a, b] = pools.slice(-2);
      if (a.sum / a.weight <= b.sum / b.weight) break;
      pools.splice(-2, 2, {sum: a.sum + b.sum, weight: a.weight + b.weight, size: a.size + b.size});
    }
  });
  let i = 0;
  for (const pool of pools)
    for (let k = 0; k < pool.size; ++k, ++i) cells[i].x = pool.sum / pool.weight + offsets[i];
}

function placeDown(boxes, links, layer, {layers, ofBox, trunks}) {
  let left = Infinity, right = -Infinity;
  for (const cells of layers) {
    for (const cell of cells) {
      left = Math.min(left, cell.x - cell.half);
      right = Math.max(right, cell.x + cell.half);
    }
  }
  const tops = [], bottoms = [];
  let y = kMargin;
  layers.forEach(cells => {
    const own = cells.filter(cell => cell.box >= 0).map(cell => boxes[cell.box]);
    tops.push(y);
    y += Math.max(0, ...own.map(box => box.height));
    bottoms.push(y);
    y += kBelow + kLabelLine * Math.max(0, ...own.map(box => box.labels));
  });
  const across = cell => cell.x - left + kMargin;
  ofBox.forEach((cell, i) => Object.assign(boxes[i], {x: across(cell), y: tops[cell.layer], layer: cell.layer}));
  route(boxes, links, layer, {trunks, tops, bottoms, across});
  return {width: right - left + 2 * kMargin, height: bottoms[bottoms.length - 1] + kMargin + kLabelLine * 2};
}

// Lines end side by side at the top of a box, in the order in which they come.
function route(boxes, links, layer, {trunks, tops, bottoms, across}) {
  const ends = boxes.map(() => []);
  for (const link of links) {
    const [above, below] = link.isBack ? [link.to, link.from] : [link.from, link.to];
    const passed = trunks[above].slice(0, layer[below] - layer[above] - 1);
    const last = passed.length > 0 ? across(passed[passed.length - 1]) : boxes[above].x;
    const {x, y, height, labels} = boxes[above];
    link.points = [[x, y + height + (labels > 0 ? 4 + kLabelLine * labels : 0)]];
    for (const cell of passed) link.points.push([across(cell), tops[cell.layer]], [across(cell), bottoms[cell.layer]]);
    ends[below].push({link, last});
  }
  ends.forEach((list, i) => {
    list.sort((a, b) => a.last - b.last);
    const step = Math.min(14, (boxes[i].width - 24) / Math.max(1, list.length - 1));
    list.forEach(({link}, k) => link.points.push([boxes[i].x + (k - (list.length - 1) / 2) * step, boxes[i].y]));
  });
}
