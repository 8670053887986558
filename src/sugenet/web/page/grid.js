// The input as a picture: one cell for each pixel, one tab stop, arrows to move, a click, a key or a brush to change.
import { byId, fill, h, put, say } from "./dom.js";
import { nameOf, nearestState, shade, valueWords } from "./features.js";

export function makeGrid(app) {
  const { payload, model, state } = app;
  const { rows, columns } = payload.grid;
  const cells = [];
  const drawn = []; // how each cell looks: only what differs is written
  let at = Math.min(Math.floor(rows / 2) * columns + Math.floor(columns / 2), rows * columns - 1);
  let stroke = null;
  let pen = "mouse";

  const about = { role: "grid", label: `Input, ${rows} by ${columns} pixels`, test: "grid" };
  const board = h("div", { class: rows > 16 ? "grid dense" : "grid", ...about });
  board.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
  put(board, "--columns", columns);
  for (let r = 0; r < rows; r++) {
    const row = h("div", { class: "row", role: "row" });
    for (let c = 0; c < columns; c++) {
      const feature = r * columns + c;
      const cell = h("div", { class: "pixel", role: "gridcell", tabindex: feature === at ? 0 : -1, "data-feature": feature });
      cells.push(cell);
      row.append(cell);
    }
    board.append(row);
  }
  fill(byId("board"), board);

  function refresh() {
    cells.forEach((cell, f) => {
      const changed = state.values[f] !== state.base[f];
      const held = state.locks.has(f);
      const look = `${state.values[f]} ${changed} ${held}`;
      if (drawn[f] === look) return;
      drawn[f] = look;
      put(cell, "--shade", shade(payload, f, state.values[f]));
      cell.classList.toggle("changed", changed);
      cell.classList.toggle("held", held);
      const marks = `${changed ? ", changed" : ""}${held ? ", held" : ""}`;
      const label = `${model.describe(f, state.states[f])}, value ${valueWords(model, f, state.values[f])}${marks}`;
      cell.ariaLabel = label;
    });
    tell(at);
  }

  function tell(feature) {
    const was = state.values[feature] !== state.base[feature] ? `, was ${valueWords(model, feature, state.base[feature])}` : "";
    const held = state.locks.has(feature) ? "; held" : "";
    const mark = app.marked.get(feature);
    say(byId("cell"), `${nameOf(payload, feature)} = ${valueWords(model, feature, state.values[feature])}${was}${held}${mark ? `. ${mark.words}` : ""}`);
  }

  function focus(feature) {
    cells[at].tabIndex = -1;
    at = feature;
    cells[at].tabIndex = 0;
    tell(at);
  }

  // A stroke begins with one cell; the cells it passes over get what that one got.
  function begin(feature, back) {
    if (app.mode === "hold") {
      stroke = { hold: !state.locks.has(feature), passed: new Set() };
    } else {
      const to = app.mode === "paint" ? app.level : state.next(feature, back ? -1 : 1);
      state.stroke();
      stroke = { to, passed: new Set() };
    }
    pass(feature);
  }

  function pass(feature) {
    stroke.last = feature;
    if (stroke.passed.has(feature)) return;
    stroke.passed.add(feature);
    const to = stroke.hold === undefined ? nearestState(model, feature, stroke.to) : null;
    if (to === null) state.hold(feature, stroke.hold);
    else if (to !== state.states[feature]) {
      state.move(feature, to);
      state.moved();
    }
  }

  // A quick pointer skips cells: those on the straight line between two of its places count as passed.
  function passAlong(feature) {
    const [r0, c0, r1, c1] = [Math.floor(stroke.last / columns), stroke.last % columns, Math.floor(feature / columns), feature % columns];
    const steps = Math.max(Math.abs(r1 - r0), Math.abs(c1 - c0));
    for (let i = 1; i <= steps; i++) pass(Math.round(r0 + ((r1 - r0) * i) / steps) * columns + Math.round(c0 + ((c1 - c0) * i) / steps));
  }

  function touched(event) {
    const cell = document.elementFromPoint(event.clientX, event.clientY)?.closest(".pixel");
    return cell && board.contains(cell) ? Number(cell.dataset.feature) : null;
  }

  board.addEventListener("pointerdown", (event) => {
    pen = event.pointerType;
    const feature = touched(event);
    if (feature === null || event.button !== 0) return;
    focus(feature);
    if (pen === "touch" && app.mode === "flip") return; // a finger may be scrolling: wait for the tap
    event.preventDefault();
    cells[feature].focus({ preventScroll: true });
    begin(feature, event.shiftKey);
    board.setPointerCapture(event.pointerId);
  });
  board.addEventListener("click", (event) => {
    const feature = touched(event);
    if (pen !== "touch" || app.mode !== "flip" || feature === null) return;
    begin(feature, event.shiftKey);
    stroke = null;
  });
  board.addEventListener("pointermove", (event) => {
    const feature = touched(event);
    if (feature === null) return;
    tell(feature);
    if (stroke) passAlong(feature);
  });
  for (const name of ["pointerup", "pointercancel"]) board.addEventListener(name, () => { stroke = null; });
  board.addEventListener("pointerleave", () => tell(at));
  board.addEventListener("focusin", (event) => {
    const cell = event.target.closest(".pixel");
    if (cell) focus(Number(cell.dataset.feature));
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
      const count = model.features[at].coding.states;
      const wanted = count > 10 ? Math.round((Number(event.key) / 9) * (count - 1)) : Math.min(Number(event.key), count - 1);
      state.set([[at, nearestState(model, at, wanted)]]);
    } else if (event.key === "l" || event.key === "L") state.hold(at);
    else return;
    event.preventDefault();
  });

  function mark(marks) {
    cells.forEach((cell, f) => {
      const wanted = marks.get(f);
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
