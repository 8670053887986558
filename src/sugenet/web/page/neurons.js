// Neurons as match meters: M within 0..size against tau, with the band that the held inputs still leave; nearest to turning first.
import { bounds } from "./engine/bounds.js";
import { byId, fill, h, link, many, put, say } from "./dom.js";
import { listed } from "./words.js";

const FIRST = 24;

export function makeNeurons(app) {
  const { payload, model, state } = app;
  const rows = [];
  let all = false;
  let band = null;
  let bandOf = "";
  let hovered = null;

  const rule = h("div", { class: "rule", test: "rule" });
  const overview = h("p", null);
  const how = "Point at one to see what it counts; choose it to keep that shown. Hold inputs to see neurons lock.";
  const hint = h("p", { class: "quiet" }, how);
  const list = h("div", { class: "neurons", role: "list", label: "Neurons, nearest to their threshold first" });
  const more = link("", () => { all = !all; refresh(); }, "show-all");
  fill(
    byId("neurons"),
    h("p", { class: "legend" },
      [["k", "M, matches"], ["t", "tau"], ["b", "M still possible"]].map(([mark, text]) => h("i", null, h("span", { class: mark }), text))),
    rule, list, more,
  );
  if (payload.layers.length > 1) {
    const layers = payload.layers.map((layer, l) => h("option", null, `layer ${l + 1}: ${many(layer.outputs, "neuron")}`));
    const select = h("select", { label: "Layer", test: "layer" }, layers);
    select.addEventListener("change", () => choose(select.selectedIndex, null));
    byId("layer-choice").append(select);
  } else if (payload.layers.length) say(byId("layer-choice"), `layer 1: ${many(payload.layers[0].outputs, "neuron")}`);
  else fill(byId("neurons"), h("p", { class: "quiet" }, "This network has no hidden layer: classes count matches of the input."));

  function choose(layer, neuron) {
    state.choice.layer = layer;
    state.choice.neuron = neuron;
    hovered = null;
    state.tell("choice");
  }

  function row(place) {
    if (rows[place]) return rows[place];
    const name = h("span", null);
    const span = h("span", { class: "band" });
    const level = h("span", { class: "fill" });
    const tau = h("span", { class: "tau" });
    const count = h("span", { class: "count" });
    const is = h("span", { class: "is" });
    const meter = h("span", { class: "meter", "aria-hidden": "true" }, span, level, tau);
    const line = h("button", { type: "button", class: "neuron", test: "neuron" }, name, meter, count, is);
    const element = h("div", { role: "listitem" }, line);
    line.addEventListener("click", () => choose(state.choice.layer, state.choice.neuron === line.neuron ? null : line.neuron));
    for (const name of ["mouseenter", "focus"]) line.addEventListener(name, () => { hovered = line; describe(); });
    for (const name of ["mouseleave", "blur"]) line.addEventListener(name, () => { hovered = null; describe(); });
    list.append(element);
    return (rows[place] = { element, line, name, span, level, tau, count, is });
  }

  // Bounds depend on what is held and on the states of what is held, on nothing else.
  function reach() {
    const key = [...state.locks].map((f) => `${f}:${state.states[f]}`).join();
    if (!band || key !== bandOf) {
      const allowed = payload.features.map((_, f) => (state.locks.has(f) ? [state.states[f]] : model.reachableStates(f)));
      band = bounds(model, allowed);
      bandOf = key;
    }
    return band;
  }

  function refresh() {
    const { layer } = state.choice;
    const seen = state.result.layers[layer];
    if (!seen) return;
    const { lo, hi, state: fixed } = reach().layers[layer];
    const slack = (j) => Math.abs(2 * (seen.M[j] - seen.tau[j]) + 1);
    const order = Array.from(seen.M, (_, j) => j).sort((a, b) => slack(a) - slack(b) || a - b);
    const shown = all ? order : order.slice(0, FIRST);
    const digits = String(seen.sizes.reduce((most, size) => Math.max(most, size), 0)).length;
    put(list, "--name", `${String(seen.M.length).length + 2}ch`);
    put(list, "--count", `${2 * digits + 3}ch`);
    shown.forEach((j, place) => {
      const part = row(place);
      const size = seen.sizes[j] || 1;
      const at = (value) => Math.min(1, Math.max(0, value / size));
      const on = Boolean(seen.active[j]);
      const why = state.locks.size ? "locked by what is held" : "the same for every input";
      const free = fixed[j] ? why : `undecided: M may be ${lo[j]} to ${hi[j]}`;
      const facts = `M ${seen.M[j]} of ${seen.sizes[j]}, tau ${seen.tau[j]}, ${on ? "on" : "off"}, ${free}`;
      const look = `${j} ${facts} ${state.choice.neuron === j} ${state.locks.size > 0}`;
      part.element.hidden = false;
      if (part.look === look) return; // most neurons stay as they are
      part.look = look;
      part.line.neuron = j;
      part.line.dataset.neuron = j;
      part.line.classList.toggle("on", on);
      part.line.ariaPressed = String(state.choice.neuron === j);
      put(part.span, "--lo", at(lo[j]));
      put(part.span, "--hi", at(hi[j]));
      put(part.level, "--m", at(seen.M[j]));
      put(part.tau, "--tau", at(seen.tau[j]));
      say(part.name, `n ${j + 1}`);
      say(part.count, `${seen.M[j]} ${on ? "≥" : "<"} ${seen.tau[j]}`);
      const open = state.locks.size ? "◐ undecided" : on ? "● on" : "○ off";
      const locked = `${fixed[j] > 0 ? "■" : "□"} ${state.locks.size ? "locked" : "always"} ${on ? "on" : "off"}`;
      say(part.is, fixed[j] ? locked : open);
      part.line.ariaLabel = `Neuron ${j + 1}: ${facts}`;
    });
    rows.slice(shown.length).forEach((part) => { part.element.hidden = true; });
    more.hidden = order.length <= FIRST;
    say(more, all ? `Show the nearest ${FIRST}` : `Show all ${order.length}`);
    const select = byId("layer-choice").querySelector("select");
    if (select) select.selectedIndex = layer;
    describe();
  }

  // What stands there while no neuron is pointed at: all of them together.
  function idle({ M, tau, active }, fixed) {
    const count = (test) => Array.from(M, (_, j) => test(j)).filter(Boolean).length;
    const on = `${count((j) => active[j])} of ${M.length} are on, ${count((j) => M[j] === tau[j])} of them with M = tau.`;
    say(overview, state.locks.size ? `${on} What you hold locks ${count((j) => fixed[j])}.` : on);
    fill(rule, overview, hint);
  }

  // The neuron pointed at, or else the chosen one: its rule in words, and its literals on the input.
  function describe() {
    const { layer } = state.choice;
    const j = hovered ? hovered.neuron : state.choice.neuron;
    const seen = state.result.layers[layer];
    if (j === null || !seen || j >= seen.M.length) {
      if (seen) idle(seen, reach().layers[layer].state);
      return app.point("neuron", null);
    }
    const { tau, size, literals } = model.neuron(layer + 1, j + 1);
    const M = seen.M[j];
    const plain = size === literals.length;
    const heavy = `the literals that hold weigh at least ${tau} of ${size}; they weigh ${M} now`;
    const what = plain ? `any ${tau} of these ${size} hold; ${M} hold now` : heavy;
    const weight = plain ? "" : "in weight ";
    const turn = M >= tau ? `${M - tau + 1} fewer ${weight}turns it off` : `${tau - M} more ${weight}turns it on`;
    const text = tau <= 0 ? "always on" : tau > size ? "never on" : `on when ${what}; ${turn}`;
    const words = literals.map((literal) => `${holds(layer, literal) ? "✓" : "✗"} ${model.literalWords(layer + 1, literal)}`);
    fill(rule, h("p", null, h("strong", null, `Neuron ${j + 1}`), ` ${text}.`), h("p", { class: "literals" }, listed(words, 120)));
    const legend = "▲ counts high, ▼ low, ◆ between; filled holds, dotted does not.";
    return app.point("neuron", layer === 0 ? { title: `neuron ${j + 1}`, legend, marks: literalMarks(literals) } : null);
  }

  function holds(layer, literal) {
    const bit = Math.abs(literal) - 1;
    const feature = model.featureOf[bit];
    const ownBit = () => model.features[feature].coding.bit(state.states[feature], bit - model.starts[feature]);
    return Boolean(layer > 0 ? state.result.layers[layer - 1].active[bit] : ownBit()) === literal > 0;
  }

  function literalMarks(literals) {
    const byFeature = new Map();
    for (const literal of literals) {
      const feature = model.featureOf[Math.abs(literal) - 1];
      const entry = byFeature.get(feature) || { up: 0, down: 0, held: 0, words: [] };
      entry[literal > 0 ? "up" : "down"]++;
      const held = holds(0, literal);
      entry.held += held ? 1 : 0;
      entry.words.push(`${model.literalWords(1, literal).replace(`${model.features[feature].name} `, "")}${held ? "" : " (not now)"}`);
      byFeature.set(feature, entry);
    }
    const marks = new Map();
    for (const [feature, { up, down, held, words }] of byFeature) {
      const total = up + down;
      const glyph = up && down ? "◆" : up ? "▲" : "▼";
      marks.set(feature, { glyph, holds: held === total ? "all" : held ? "some" : "none", words: `counts ${listed(words, 3)}` });
    }
    return marks;
  }

  return { refresh, reach };
}
