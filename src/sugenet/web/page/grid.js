// The input as a picture: one cell for each pixel, one tab stop, arrows to move, a click, a key or a brush to change. Of a coloured
// picture each cell is three features, and one channel at a time is changed.
import { byId, fill, h, put, say } from "./dom.js";
import { featureAt, pixelOf } from "./engine/model.js";
import { colour, nearestState, shade, valueWords } from "./features.js";

export function makeGrid(app) {
  const { payload, model, state } = app;
  const { rows, columns, channels } = payload.grid;
  const featuresOf = (pixel) => Array.from({ length: channels }, (_, channel) => featureAt(payload.grid, pixel, channel));
  const featureOf = (pixel) => featureAt(payload.grid, pixel, app.channel);
  const title = (feature) => model.features[feature].title;
  const cells = [];
  const drawn = []; // how each cell looks: only what differs is written
  let at = Math.min(Math.floor(rows / 2) * columns + Math.floor(columns / 2), rows * columns - 1);
  let stroke = null;
  let pen = "mouse";

  const about = { role: "grid", label: `Input, ${rows} by ${columns} pixels`, test: "grid" };
  const board = h("div", { class: `grid${rows > 16 ? " dense" : ""}${channels > 1 ? " coloured" : ""}`, ...about });
  board.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
  put(board, "--columns", columns);
  for (let r = 0; r < rows; r++) {
    const row = h("div", { class: "row", role: "row" });
    for (let c = 0; c < columns; c++) {
      const pixel = r * columns + c;
      const cell = h("div", { class: "pixel", role: "gridcell", tabindex: pixel === at ? 0 : -1, "data-feature": featureOf(pixel) });
      cells.push(cell);
      row.append(cell);
    }
    board.append(row);
  }
  fill(byId("board"), board);

  function refresh() {
    cells.forEach((cell, pixel) => {
      const features = featuresOf(pixel);
      const changed = features.some((f) => state.values[f] !== state.base[f]);
      const held = features.some((f) => state.locks.has(f));
      const look = `${features.map((f) => state.values[f])} ${changed} ${held} ${app.channel}`;
      if (drawn[pixel] === look) return;
      drawn[pixel] = look;
      if (channels > 1) put(cell, "--colour", colour(payload, features, state.values));
      else put(cell, "--shade", shade(payload, pixel, state.values[pixel]));
      cell.dataset.feature = featureOf(pixel);
      cell.classList.toggle("changed", changed);
      cell.classList.toggle("held", held);
      const marks = `${changed ? ", changed" : ""}${held ? ", held" : ""}`;
      const f = featureOf(pixel);
      cell.ariaLabel = `${model.describe(f, state.states[f])}, value ${valueWords(model, f, state.values[f])}${marks}`;
    });
    tell(at);
  }

  function tell(pixel) {
    const wanted = featuresOf(pixel).find((f) => app.marked.has(f));
    const feature = wanted ?? featureOf(pixel);
    const was = state.values[feature] !== state.base[feature] ? `, was ${valueWords(model, feature, state.base[feature])}` : "";
    const held = state.locks.has(feature) ? "; held" : "";
    const mark = app.marked.get(feature);
    say(byId("cell"), `${title(feature)} = ${valueWords(model, feature, state.values[feature])}${was}${held}${mark ? `. ${mark.words}` : ""}`);
  }

  function focus(pixel) {
    cells[at].tabIndex = -1;
    at = pixel;
    cells[at].tabIndex = 0;
    tell(at);
  }

  // A stroke begins with one cell; the cells it passes over get what that one got.
  function begin(pixel, back) {
    const feature = featureOf(pixel);
    if (app.mode === "hold") {
      stroke = { hold: !state.locks.has(feature), passed: new Set() };
    } else {
      const to = app.mode === "paint" ? app.level : state.next(feature, back ? -1 : 1);
      state.stroke();
      stroke = { to, passed: new Set() };
    }
    pass(pixel);
  }

  function pass(pixel) {
    const feature = featureOf(pixel);
    stroke.last = pixel;
    if (stroke.passed.has(pixel)) return;
    stroke.passed.add(pixel);
    const to = stroke.hold === undefined ? nearestState(model, feature, stroke.to) : null;
    if (to === null) state.hold(feature, stroke.hold);
    else if (to !== state.states[feature]) {
      state.move(feature, to);
      state.moved();
    }
  }

  // A quick pointer skips cells: those on the straight line between two of its places count as passed.
  function passAlong(pixel) {
    const [r0, c0, r1, c1] = [Math.floor(stroke.last / columns), stroke.last % columns, Math.floor(pixel / columns), pixel % columns];
    const steps = Math.max(Math.abs(r1 - r0), Math.abs(c1 - c0));
    for (let i = 1; i <= steps; i++) pass(Math.round(r0 + ((r1 - r0) * i) / steps) * columns + Math.round(c0 + ((c1 - c0) * i) / steps));
  }

  function touched(event) {
    const cell = document.elementFromPoint(event.clientX, event.clientY)?.closest(".pixel");
    return cell && board.contains(cell) ? cells.indexOf(cell) : null;
  }

  board.addEventListener("pointerdown", (event) => {
    pen = event.pointerType;
    const pixel = touched(event);
    if (pixel === null || event.button !== 0) return;
    focus(pixel);
    if (pen === "touch" && app.mode === "flip") return; // a finger may be scrolling: wait for the tap
    event.preventDefault();
    cells[pixel].focus({ preventScroll: true });
    begin(pixel, event.shiftKey);
    board.setPointerCapture(event.pointerId);
  });
  board.addEventListener("click", (event) => {
    const pixel = touched(event);
    if (pen !== "touch" || app.mode !== "flip" || pixel === null) return;
    begin(pixel, event.shiftKey);
    stroke = null;
  });
  board.addEventListener("pointermove", (event) => {
    const pixel = touched(event);
    if (pixel === null) return;
    tell(pixel);
    if (stroke) passAlong(pixel);
  });
  for (const name of ["pointerup", "pointercancel"]) board.addEventListener(name, () => { stroke = null; });
  board.addEventListener("pointerleave", () => tell(at));
  board.addEventListener("focusin", (event) => {
    const cell = event.target.closest(".pixel");
    if (cell) focus(cells.indexOf(cell));
  });

  board.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const r = Math.floor(at / columns);
    const c = at % columns;
    const arrows = { ArrowUp: [r - 1, c], ArrowDown: [r + 1, c], ArrowLeft: [r, c - 1], ArrowRight: [r, c + 1] };
    const moves = { ...arrows, Home: [r, 0], End: [r, columns - 1], PageUp: [0, c], PageDown: [rows - 1, c] };
    if (moves[event.key]) {
      const [row, column] = moves[event.key];
      if (row >= 0 && row < rows && column >= 0 && column < columns) cells[row * columns + column].focus();
    } else if (event.key === " " || event.key === "Enter") {
      begin(at, event.shiftKey);
      stroke = null;
    } else if (/^[0-9]$/.test(event.key)) {
      const feature = featureOf(at);
      const count = model.features[feature].coding.states;
      const wanted = count > 10 ? Math.round((Number(event.key) / 9) * (count - 1)) : Math.min(Number(event.key), count - 1);
      state.set([[feature, nearestState(model, feature, wanted)]]);
    } else if (event.key === "l" || event.key === "L") state.hold(featureOf(at));
    else return;
    event.preventDefault();
  });

  function mark(marks) {
    const byPixel = new Map([...marks].map(([f, wanted]) => [pixelOf(payload.grid, f)[0], wanted]));
    cells.forEach((cell, pixel) => {
      const wanted = byPixel.get(pixel);
      const now = cell.firstChild;
      if (!wanted) return now && now.remove();
      const badge = now || cell.appendChild(h("span", { class: "mark", "aria-hidden": "true" }));
      badge.dataset.holds = wanted.holds;
      say(badge, wanted.glyph);
    });
    tell(at);
  }

  // A finger scrolls the page over the picture unless it paints.
  function mode() {
    board.style.touchAction = app.mode === "flip" ? "manipulation" : "none";
  }

  return { refresh, mark, mode };
}
