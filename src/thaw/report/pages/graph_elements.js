// Elements of the page and the text in them. Names in the graph are anybody's: they are set as text, never as markup.
"use strict";

const kSvg = "http://www.w3.org/2000/svg";

// Attributes whose names begin with "on" are listeners.
function html(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function svg(tag, attributes, ...children) {
  const element = document.createElementNS(kSvg, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const button = (text, onclick) => html("button", {type: "button", class: "link", onclick}, text);
const soft = text => html("span", {class: "soft"}, text);
const code = text => html("code", {}, text);
const row = (...cells) => html("tr", {}, ...cells.map(cell => html("td", {}, ...[cell].flat())));

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

const grouped = number => number.toLocaleString("en");
const countText = (number, noun) => `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;
const lastPart = name => name.split("/").filter(part => part).pop() ?? name;
const round = number => Math.round(number * 10) / 10;

// 1234567 as "1.23 M", for what is counted and not measured exactly.
function shortNumber(number, unit = "") {
  const scales = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  for (const [scale, letter] of scales)
    if (number >= scale) return `${(number / scale).toPrecision(3)} ${letter}${unit}`;
  return `${number}${unit ? ` ${unit}` : ""}`;
}
