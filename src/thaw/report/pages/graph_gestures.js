// How a picture is moved, scaled and walked through: with a mouse, with fingers, with keys. Scrolling is the browser's.
"use strict";

function followGestures(picture) {
  const {stage} = picture;
  stage.addEventListener("keydown", event => followKey(picture, event));
  stage.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.metaKey) return;  // scrolls
    event.preventDefault();
    const at = stage.getBoundingClientRect();
    picture.zoomTo(picture.scale * Math.exp(-event.deltaY / 300), event.clientX - at.left, event.clientY - at.top);
  }, {passive: false});
  followMouse(stage);
  followFingers(picture);
}

// The picture follows a mouse that is held down; fingers scroll by themselves.
function followMouse(stage) {
  let from = null;
  stage.addEventListener("pointerdown", event => {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    from = {x: event.clientX, y: event.clientY, left: stage.scrollLeft, top: stage.scrollTop, moved: false};
  });
  addEventListener("pointermove", event => {
    if (!from) return;
    const x = event.clientX - from.x, y = event.clientY - from.y;
    from.moved ||= Math.hypot(x, y) > 5;
    if (from.moved) stage.scrollTo(from.left - x, from.top - y);
  });
  // The click that comes with it chooses nothing.
  addEventListener("pointerup", () => { if (from) setTimeout(() => { from = null; }); });
  stage.addEventListener("click", event => { if (from?.moved) event.stopPropagation(); }, {capture: true});
}

// Two fingers change the scale.
function followFingers(picture) {
  const {stage} = picture, apart = ({touches: [a, b]}) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
  let before = 0;
  stage.addEventListener("touchstart", event => { if (event.touches.length === 2) before = apart(event); });
  stage.addEventListener("touchmove", event => {
    if (event.touches.length !== 2 || !event.cancelable) return;
    event.preventDefault();
    const now = apart(event), {touches: [a, b]} = event, at = stage.getBoundingClientRect();
    const x = (a.clientX + b.clientX) / 2 - at.left, y = (a.clientY + b.clientY) / 2 - at.top;
    picture.zoomTo(picture.scale * now / before, x, y);
    before = now;
  }, {passive: false});
}

function followKey(picture, event) {
  const box = event.target.closest?.("[data-box]"), i = box ? Number(box.dataset.box) : -1;
  const step = {"+": 1.25, "=": 1.25, "-": 0.8}[event.key];
  if (step) picture.zoomTo(picture.scale * step);
  else if (event.key === "0") picture.fit();
  else if (i >= 0 && (event.key === "Enter" || event.key === " ")) picture.choose(i);
  else if (i >= 0 && event.key.startsWith("Arrow")) walk(picture, i, event.key);
  else return;
  event.preventDefault();
}

// Along the lines, or to the next box of the layer.
function walk(picture, i, key) {
  const {level: {links}, sizes} = picture, {x, layer} = sizes[i];
  const beside = isThere => sizes.flatMap((size, k) => size.layer === layer && isThere(size) ? [k] : []);
  const near = key === "ArrowDown" ? links.filter(link => link.from === i).map(link => link.to)
    : key === "ArrowUp" ? links.filter(link => link.to === i).map(link => link.from)
    : key === "ArrowRight" ? beside(other => other.x > x) : beside(other => other.x < x);
  if (near.length === 0) return;
  const nearest = near.reduce((a, b) => Math.abs(sizes[b].x - x) < Math.abs(sizes[a].x - x) ? b : a);
  picture.reached(nearest);
  picture.elements[nearest].focus();
}
