// Neurons as match meters: M within 0..size against tau, with the band that the held inputs still leave; nearest to turning first. Of several
// levels each step is marked, and the nearest is in place of tau.
import { bounds } from "./engine/bounds.js";
import { byId, fill, h, isPhone, link, many, put, say } from "./dom.js";
import { TERMS, listed } from "./words.js";

const FIRST = 24;
const MOST_MARKS = 31; // steps that are marked in a meter

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
  const hint = h("p", { class: "quiet" }, isPhone() ? how.replace("Point at one to see what it counts; choose it to keep that shown.", "Tap one to see what it counts.") : how);
  const list = h("div", { class: "neurons", role: "list", label: "Neurons, nearest to their threshold first" });
  const more = link("", () => { all = !all; refresh(); }, "show-all");
  fill(
    byId("neurons"),
    h("p", { class: "legend" },
      [
        ["k", "M, matches", TERMS.M],
        ["t", model.layers.some((layer) => layer.levels) ? "tau, or the nearest step" : "tau", TERMS.tau],
        ["b", `M still possible${payload.domain?.laws.length ? ", laws aside" : ""}`, "The match counts that the held inputs still allow."],
      ].map(([mark, text, title]) => h("i", { title }, h("span", { class: mark }), text))),
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
    const steps = h("span", null);
    const count = h("span", { class: "count" });
    const is = h("span", { class: "is" });
    const meter = h("span", { class: "meter", "aria-hidden": "true" }, span, level, steps, tau);
    const line = h("button", { type: "button", class: "neuron", test: "neuron" }, name, meter, count, is);
    const element = h("div", { role: "listitem" }, line);
    line.addEventListener("click", () => choose(state.choice.layer, state.choice.neuron === line.neuron ? null : line.neuron));
    for (const name of ["mouseenter", "focus"]) line.addEventListener(name, () => { hovered = line; describe(); });
    for (const name of ["mouseleave", "blur"]) line.addEventListener(name, () => { hovered = null; describe(); });
    list.append(element);
    return (rows[place] = { element, line, name, span, level, steps, tau, count, is });
  }

  // Bounds depend on what is held and on the states of what is held; where there are limits, also on the states that are outside.
  function reach() {
    const key = [...state.locks].map((f) => `${f}:${state.states[f]}`).join() + (payload.domain ? ` ${state.states}` : "");
    if (!band || key !== bandOf) {
      const allowed = payload.features.map((_, f) => (state.locks.has(f) ? [state.states[f]] : [state.states[f], ...model.possibleStates(f)]));
      band = bounds(model, allowed);
      bandOf = key;
    }
    return band;
  }

  function refresh() {
    const { layer } = state.choice;
    const seen = state.result.layers[layer];
    if (!seen) return;
    const { lo, hi, least, most, state: fixed } = reach().layers[layer];
    const own = model.layers[layer];
    const taus = Array.from(seen.M, (count, j) => own.nearest(j, count));
    const slack = (j) => (taus[j] === null ? Number.MAX_VALUE : Math.abs(2 * (seen.M[j] - taus[j]) + 1));
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
      const tau = taus[j];
      const above = tau === null || seen.M[j] >= tau;
      const why = state.locks.size ? "locked by what is held" : `the same for every input${payload.domain ? " that can occur" : ""}`;
      const range = own.levels ? `${least[j]} to ${most[j]}` : "";
      const free = fixed[j] ? why : own.levels ? `may be ${range}` : `may turn: M may be ${lo[j]} to ${hi[j]}`;
      const level = `level ${seen.active[j]}`;
      const value = own.levels ? `${level} of ${own.height}` : on ? "on" : "off";
      const near = tau === null ? "no step" : `${own.levels ? "nearest step" : "tau"} ${tau}`;
      const facts = `M ${seen.M[j]} of ${seen.sizes[j]}, ${near}, ${value}, ${free}`;
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
      part.tau.hidden = tau === null;
      if (tau !== null) put(part.tau, "--tau", at(tau));
      fill(part.steps, own.levels && own.height <= MOST_MARKS ? marks(own, j, at) : []);
      say(part.name, `n ${j + 1}`);
      say(part.count, tau === null ? String(seen.M[j]) : `${seen.M[j]} ${above ? "≥" : "<"} ${tau}`);
      const word = own.levels ? `at ${seen.active[j]}` : value;
      const open = state.locks.size ? `◐ ${range || "may turn"}` : `${on ? "●" : "○"} ${own.levels ? level : value}`;
      const locked = `${fixed[j] > 0 ? "■" : "□"} ${state.locks.size ? "locked" : "always"} ${word}`;
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

  function marks(layer, j, at) {
    const taus = Array.from({ length: layer.height }, (_, m) => layer.threshold(j, m + 1));
    return [...new Set(taus)].filter((tau) => tau > 0 && tau <= layer.sizes[j]).map((tau) => {
      const mark = h("span", { class: "step" });
      put(mark, "--tau", at(tau));
      return mark;
    });
  }

  // What stands there while no neuron is pointed at: all of them together.
  function idle({ M, active }, fixed) {
    const own = model.layers[state.choice.layer];
    const count = (test) => Array.from(M, (_, j) => test(j)).filter(Boolean).length;
    const top = `${count((j) => active[j] === own.height)} at the top (${own.height}).`;
    const bits = () => `${count((j) => active[j])} of ${M.length} are on, ${count((j) => M[j] === own.tau[j])} of them with M = tau.`;
    const on = own.levels ? `${count((j) => active[j])} of ${M.length} are above level 0, ${top}` : bits();
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
    const neuron = model.neuron(layer + 1, j + 1);
    const { tau, size, literals } = neuron;
    const M = seen.M[j];
    const legend = "▲ counts high, ▼ low, ◆ between; filled holds, dotted does not.";
    const show = (text, words) => {
      fill(rule, h("p", null, h("strong", null, `Neuron ${j + 1}`), ` ${text}`), h("p", { class: "literals" }, listed(words, 120)));
      return app.point("neuron", layer === 0 ? { title: `neuron ${j + 1}`, legend, marks: literalMarks(literals) } : null);
    };
    if (model.layers[layer].levels || (layer > 0 && neuron.levels)) return show(levelWords(layer, j, M), inputWords(layer, neuron));
    const plain = size === literals.length;
    const heavy = `the literals that hold weigh at least ${tau} of ${size}; they weigh ${M} now`;
    const what = plain ? `any ${tau} of these ${size} hold; ${M} hold now` : heavy;
    const weight = plain ? "" : "in weight ";
    const turn = M >= tau ? `${M - tau + 1} fewer ${weight}turns it off` : `${tau - M} more ${weight}turns it on`;
    const text = tau <= 0 ? "always on" : tau > size ? "never on" : `on when ${what}; ${turn}`;
    return show(`${text}.`, literals.map((literal) => literalNow(layer, literal)));
  }

  // What a neuron of several levels is at, and what moves it.
  function levelWords(layer, j, M) {
    const own = model.layers[layer];
    const level = own.level(j, M);
    if (own.kind === "level pool") return `is the ${own.rows.isEvery(j) ? "least" : "largest"} of these: ${level} of ${own.height}.`;
    const size = own.sizes[j];
    const up = level < own.height ? own.threshold(j, level + 1) : Infinity;
    const down = level > 0 ? own.threshold(j, level) : 0;
    const name = (value) => (own.levels ? `level ${value}` : value ? "on" : "off");
    const lift = up <= size ? `${up - M} more lifts it to ${name(own.level(j, up))}` : "nothing lifts it higher";
    const drop = down > 0 ? `${M - down + 1} fewer drops it to ${name(own.level(j, down - 1))}` : "nothing drops it lower";
    return `is ${own.levels ? `at level ${level} of ${own.height}` : name(level)}: it counts ${M} of ${size}; ${lift}, ${drop}.`;
  }

  // Each input with its weight, and what it adds now.
  function inputWords(layer, { levels, literals, weights }) {
    const times = (size) => (size === 1 ? "" : `${size} × `);
    if (!levels) return literals.map((literal, i) => times(weights[i]) + literalNow(layer, literal));
    return levels.map(([place, weight, top]) => {
      const now = layer > 0 ? state.result.layers[layer - 1].active[place] : state.states[place];
      const name = layer > 0 ? `neuron ${place + 1} of layer ${layer}` : model.features[place].title;
      return `${times(Math.abs(weight))}(${weight > 0 ? "" : `${top} − `}level ${now}) of ${name}, 0 to ${top}`;
    });
  }

  function literalNow(layer, literal) {
    return `${holds(layer, literal) ? "✓" : "✗"} ${model.literalWords(layer + 1, literal)}`;
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
      entry.words.push(`${model.literalWords(1, literal).replace(`${model.features[feature].title} `, "")}${held ? "" : " (not now)"}`);
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
