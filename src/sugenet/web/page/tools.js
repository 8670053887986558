// The tools above the input: what a click does, the level to paint with, undo; and going to another input with a way back.
import { button, byId, calm, choices, fill, h, isPhone, look, many, put, say } from "./dom.js";
import { shade, shortWords } from "./features.js";
import { unit, upper } from "./words.js";

const FEW_LEVELS = 8;
const MODES = ["flip", "paint", "hold"];

export function makeTools(app) {
  const { payload, model, state } = app;
  const word = unit(payload);
  const [click, before] = isPhone() ? ["tap", ""] : ["click", "; with Shift the one before"];
  const invite = {
    flip: `A ${click} gives a ${word} its next level${before}.`,
    paint: `Drag over the ${word}s to give them the level below.`,
    hold: `${upper(click)} or drag over the ${word}s that must stay as they are.`,
  };
  const undo = button("Undo", () => state.undo(), "undo");
  const redo = button("Redo", () => state.redo(), "redo");
  const reset = button("Reset", () => state.reset(), "reset");
  fill(byId("history"), undo, redo, reset);
  byId("release").addEventListener("click", () => {
    state.locks.clear();
    state.tell("locks");
  });

  function setMode(mode) {
    app.mode = mode;
    byId("levels").hidden = mode !== "paint";
    app.board.mode();
    byId("modes").hidden = !payload.grid;
    if (!payload.grid) return say(byId("invite"), "Move a slider across a mark, type a value, or choose.");
    const names = MODES.map((name) => [name, name[0].toUpperCase() + name.slice(1), { test: `mode-${name}` }]);
    choices(byId("modes"), "mode", names, mode, setMode);
    return say(byId("invite"), invite[mode]);
  }

  // Of a coloured picture one channel at a time is changed.
  function setChannels() {
    const names = ["Red", "Green", "Blue"].map((name, channel) => [String(channel), name, { test: `channel-${channel}` }]);
    choices(byId("channels"), "channel", names, String(app.channel), (value) => {
      app.channel = Number(value);
      app.board.refresh();
    });
  }

  function setLevels() {
    const { coding } = model.features[0];
    const spread = (share) => Math.round(share * (coding.states - 1));
    const levels = coding.states > FEW_LEVELS ? [0, 0.25, 0.5, 0.75, 1].map(spread) : model.reachableStates(0);
    app.level = levels[levels.length - 1];
    const swatch = (level) => {
      const box = h("span", { class: "swatch" });
      put(box, "--shade", shade(payload, 0, model.valueOf(0, level, null)));
      return h("span", { class: "level" }, box, shortWords(model, 0, level));
    };
    const choose = (value) => { app.level = Number(value); };
    choices(byId("levels"), "level", levels.map((level) => [String(level), swatch(level)]), String(app.level), choose);
  }

  function refresh(what) {
    const changed = state.changed().length;
    const facts = [changed && `${many(changed, word)} changed`, state.locks.size && `${many(state.locks.size, word)} held`];
    say(byId("changed"), facts.filter(Boolean).join(", "));
    undo.disabled = !state.done.length;
    redo.disabled = !state.undone.length;
    reset.disabled = !changed;
    byId("release").hidden = !state.locks.size;
    if (!(app.arriving && what === "input")) byId("morph").hidden = true;
  }

  // Goes to another input one feature after another, so that one can see it happen; then asks whether to stay.
  async function morph(changes, words) {
    if (app.way) return;
    const way = (app.way = {}); // whatever else changes the input ends it
    const pause = calm() ? 0 : Math.min(400, 2400 / changes.length);
    look(byId("board"));
    state.stroke();
    for (const [feature, to] of changes) {
      state.move(feature, to, state.values[feature]);
      app.step();
      if (pause) await new Promise((resolve) => setTimeout(resolve, pause));
      if (app.way !== way) return;
    }
    app.push = true;
    byId("morph").hidden = false;
    app.arriving = true;
    state.moved();
    app.arriving = false;
    const back = () => {
      close();
      state.undo();
    };
    const keep = button("Keep", close, "keep");
    fill(byId("morph"), h("p", null, words), h("div", { class: "joined" }, keep, button("Back", back, "back")));
    keep.focus({ preventScroll: true });
  }

  function close() {
    byId("morph").hidden = true;
    byId("input").focus({ preventScroll: true });
    app.remark();
  }

  if (payload.grid?.channels > 1) setChannels();
  if (payload.grid) setLevels();
  setMode("flip");
  return { refresh, morph };
}
