// The input as a form: a slider with its cuts marked and a field to type into for a number, choices for a category; a group moves as one.
// The features that the verdict or an answer names come first.
import { byId, button, fill, h, put, say, toast } from "./dom.js";
import { readNumber } from "./engine/exact.js";
import { codingOf, ends, nearestState, shortWords, valueWords } from "./features.js";

const FEW = 6;

export function makeTable(app) {
  const { payload, model, state } = app;
  const rows = payload.features.map((_, feature) => makeRow(feature));
  const about = { role: "group", label: `Input, ${payload.features.length} features`, test: "table" };
  const table = h("div", { class: "table", ...about }, rows.map((row) => row.element));
  fill(byId("board"), table);

  function makeRow(feature) {
    const coding = codingOf(payload, feature);
    const name = model.features[feature].title;
    const hold = button("hold", () => state.hold(feature), null, "hold");
    hold.ariaLabel = `Hold ${name}`;
    const words = button("", (event) => turn(feature, event.shiftKey), "flip", "link words");
    words.title = "Next state; with Shift the one before";
    const isNumber = coding.kind === "steps" && !coding.bipolar;
    const value = isNumber ? field(feature, name) : null;
    const note = h("p", { class: "note", hidden: true });
    const control = isNumber ? slider(feature, coding) : options(feature, coding);
    const element = h("div", { class: "feature", "data-feature": feature, role: "group", label: name },
      h("div", { class: "head" }, h("span", { class: "name" }, name), words, hold),
      h("div", { class: "body" }, control.element, value),
      note);
    element.addEventListener("keydown", (event) => key(event, feature));
    return { element, hold, words, value, note, control };
  }

  // A value as it is typed; what cannot be one is told and put back.
  function field(feature, name) {
    const input = h("input", { type: "text", class: "value", inputmode: "decimal", autocomplete: "off", label: `${name}, value`, test: "value" });
    input.addEventListener("change", () => {
      const text = input.value.trim();
      const { coding } = model.features[feature];
      const number = readNumber(text);
      const takes = number !== null && (coding.whole || typeof number === "number") && coding.takes(number);
      if (takes && number !== state.values[feature]) {
        state.stroke();
        state.put(feature, number);
        state.moved();
      } else if (!takes) toast(`${name} cannot be ${text || "empty"}: it is ${domain(coding)}.`);
      input.value = valueWords(model, feature, state.values[feature]);
    });
    return input;
  }

  function domain({ whole, low, high }) {
    const kind = whole ? "an integer" : "a number";
    if (low > -Infinity) return high < Infinity ? `${kind} from ${low} to ${high}` : `${kind} of at least ${low}`;
    return high < Infinity ? `${kind} up to ${high}` : kind;
  }

  // Where a slider stands, in few digits: rounding crosses no cut.
  function rounded(feature, value, span) {
    const digits = Math.max(0, Math.min(12, 3 - Math.floor(Math.log10(span))));
    const short = Number(value.toFixed(digits));
    const { coding } = model.features[feature];
    return coding.takes(short) && coding.state(short) === coding.state(value) ? short : value;
  }

  function slider(feature, coding) {
    const [low, high] = ends(payload, feature);
    let sliding = false;
    const step = coding.whole ? 1 : "any";
    const input = h("input", { type: "range", min: low, max: high, step, label: model.features[feature].title });
    input.addEventListener("input", () => {
      if (!sliding) state.stroke();
      sliding = true;
      const value = input.valueAsNumber;
      state.put(feature, coding.whole ? Math.round(value) : rounded(feature, value, high - low));
      state.moved();
    });
    input.addEventListener("change", () => { sliding = false; });
    const ticks = coding.cuts.map(Number).filter((cut) => cut > low && cut <= high).map((cut) => {
      const tick = h("span", { class: "tick", "aria-hidden": "true" });
      put(tick, "--at", (cut - low) / (high - low));
      return tick;
    });
    return { element: h("div", { class: "slide" }, ticks, input), refresh: () => {
      const text = String(state.values[feature]);
      if (!sliding && input.value !== text) input.value = text;
      input.setAttribute("aria-valuetext", `${valueWords(model, feature, state.values[feature])}, ${model.describe(feature, state.states[feature])}`);
    } };
  }

  function options(feature, coding) {
    const texts = coding.kind === "onehot" ? coding.names || coding.categories.map(String) : ["-1", "+1"];
    const name = model.features[feature].title;
    const choose = (chosen) => state.set([[feature, chosen]]);
    if (texts.length > FEW) {
      const select = h("select", { label: name }, texts.map((text) => h("option", null, text)));
      select.addEventListener("change", () => choose(select.selectedIndex));
      const refresh = () => { select.selectedIndex = state.states[feature]; };
      return { element: h("div", { class: "options" }, select), refresh };
    }
    const radios = texts.map((text, s) => h("input", { type: "radio", name: `feature-${feature}`, onchange: () => choose(s) }));
    const labels = texts.map((text, s) => h("label", { class: "choice" }, radios[s], h("span", null, text)));
    const element = h("div", { class: "options", role: "radiogroup", label: name }, labels);
    const refresh = () => radios.forEach((radio, s) => { radio.checked = s === state.states[feature]; });
    return { element, refresh };
  }

  function turn(feature, back) {
    if (app.mode === "hold") return state.hold(feature);
    state.set([[feature, state.next(feature, back ? -1 : 1)]]);
  }

  function key(event, feature) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, input[type=text]")) return;
    const onSlider = event.target.matches("input[type=range]");
    if (onSlider && (event.key === " " || event.key === "Enter")) turn(feature, event.shiftKey);
    else if (onSlider && /^[0-9]$/.test(event.key)) state.set([[feature, nearestState(model, feature, Number(event.key))]]);
    else if (event.key === "l" || event.key === "L") state.hold(feature);
    else return;
    event.preventDefault();
  }

  function refresh() {
    rows.forEach((row, f) => {
      const held = state.locks.has(f);
      const changed = state.values[f] !== state.base[f];
      const look = `${state.values[f]} ${changed} ${held} ${state.base[f]}`;
      if (row.look === look) return;
      row.look = look;
      row.control.refresh();
      row.element.classList.toggle("changed", changed);
      row.hold.ariaPressed = String(held);
      say(row.hold, held ? "held" : "hold");
      say(row.words, shortWords(model, f, state.states[f]));
      if (!row.value) return;
      const text = valueWords(model, f, state.values[f]);
      if (row.value.value !== text) row.value.value = text;
      row.value.title = changed ? `was ${valueWords(model, f, state.base[f])}` : "";
    });
  }

  // Rows do not move under a hand: where the focus is among them they wait until it leaves.
  let named = [];
  function arrange() {
    const order = [...named, ...rows.map((_, f) => f).filter((f) => !named.includes(f))];
    fill(table, order.map((f) => rows[f].element));
  }
  table.addEventListener("focusout", (event) => { if (!table.contains(event.relatedTarget)) arrange(); });

  function mark(marks) {
    const wanted = [...marks].filter(([, { holds }]) => holds === "set" || holds === "keep").map(([f]) => f);
    if (wanted.length || !marks.size) named = wanted;
    if (!table.contains(document.activeElement)) arrange();
    rows.forEach((row, f) => {
      const own = marks.get(f);
      row.element.classList.toggle("shown", Boolean(own) && own.holds !== "set" && own.holds !== "none");
      row.element.classList.toggle("aimed", Boolean(own) && own.holds === "set");
      row.note.hidden = !own;
      row.note.classList.toggle("wants", Boolean(own) && (own.holds === "all" || own.holds === "keep"));
      say(row.note, own ? own.words : "");
    });
    const first = rows[wanted[0] ?? Math.min(...marks.keys())]?.element;
    if (first && app.scrollToMarks) table.scrollTo({ top: first.offsetTop - table.offsetTop - 8, behavior: "auto" });
  }

  return { refresh, mark, mode: () => {} };
}
