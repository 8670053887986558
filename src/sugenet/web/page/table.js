// The input as a form: a slider with its cuts marked for a number, choices for a category; a group moves as one.
import { byId, button, fill, h, put, say } from "./dom.js";
import { codingOf, ends, nameOf, nearestState, shortWords, valueWords } from "./features.js";

const FEW = 6;

export function makeTable(app) {
  const { payload, model, state } = app;
  const rows = payload.features.map((_, feature) => makeRow(feature));
  const about = { role: "group", label: `Input, ${payload.features.length} features`, test: "table" };
  const table = h("div", { class: "table", ...about }, rows.map((row) => row.element));
  fill(byId("board"), table);

  function makeRow(feature) {
    const coding = codingOf(payload, feature);
    const name = nameOf(payload, feature);
    const hold = button("hold", () => state.hold(feature), null, "hold");
    hold.ariaLabel = `Hold ${name}`;
    const words = button("", (event) => turn(feature, event.shiftKey), "flip", "link words");
    words.title = "Next state; with Shift the one before";
    const value = h("span", { class: "value" });
    const note = h("p", { class: "note", hidden: true });
    const control = coding.kind === "steps" && !coding.bipolar ? slider(feature, coding) : options(feature, coding);
    const element = h("div", { class: "feature", "data-feature": feature, role: "group", label: name },
      h("div", { class: "head" }, h("span", { class: "name" }, name), words, hold),
      h("div", { class: "body" }, control.element, value),
      note);
    element.addEventListener("keydown", (event) => key(event, feature));
    return { element, hold, words, value, note, control };
  }

  function slider(feature, coding) {
    const [low, high] = ends(payload, feature);
    let sliding = false;
    const step = coding.whole ? 1 : "any";
    const input = h("input", { type: "range", min: low, max: high, step, label: nameOf(payload, feature) });
    input.addEventListener("input", () => {
      if (!sliding) state.stroke();
      sliding = true;
      const value = coding.whole ? Math.round(input.valueAsNumber) : input.valueAsNumber;
      state.put(feature, value);
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
    const name = nameOf(payload, feature);
    const choose = (chosen) => state.set([[feature, chosen]]);
    if (texts.length > FEW) {
      const select = h("select", { label: name }, texts.map((text) => h("option", null, text)));
      select.addEventListener("change", () => choose(select.selectedIndex));
      const refresh = () => { select.selectedIndex = state.states[feature]; };
      return { element: h("div", { class: "options" }, select), shows: true, refresh };
    }
    const radios = texts.map((text, s) => h("input", { type: "radio", name: `feature-${feature}`, onchange: () => choose(s) }));
    const labels = texts.map((text, s) => h("label", { class: "choice" }, radios[s], h("span", null, text)));
    const element = h("div", { class: "options", role: "radiogroup", label: name }, labels);
    const refresh = () => radios.forEach((radio, s) => { radio.checked = s === state.states[feature]; });
    return { element, shows: true, refresh };
  }

  function turn(feature, back) {
    if (app.mode === "hold") return state.hold(feature);
    state.set([[feature, state.next(feature, back ? -1 : 1)]]);
  }

  function key(event, feature) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select")) return;
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
      say(row.value, row.control.shows ? "" : valueWords(model, f, state.values[f]));
      row.value.title = changed ? `was ${valueWords(model, f, state.base[f])}` : "";
    });
  }

  function mark(marks) {
    let first = null;
    rows.forEach((row, f) => {
      const wanted = marks.get(f);
      row.element.classList.toggle("shown", Boolean(wanted) && wanted.holds !== "set" && wanted.holds !== "none");
      row.element.classList.toggle("aimed", Boolean(wanted) && wanted.holds === "set");
      row.note.hidden = !wanted;
      row.note.classList.toggle("wants", Boolean(wanted) && (wanted.holds === "all" || wanted.holds === "keep"));
      say(row.note, wanted ? wanted.words : "");
      if (wanted && !first) first = row.element;
    });
    if (first && app.scrollToMarks) table.scrollTo({ top: first.offsetTop - table.offsetTop - 8, behavior: "auto" });
  }

  return { refresh, mark, mode: () => {} };
}
