// The frame around it: theme, help, link, sample chooser.
import { button, byId, copy, fill, h, isPhone, say } from "./dom.js";
import { unit } from "./words.js";

const THEMES = ["auto", "light", "dark"];

export function makeFrame({ payload, state, goTo, writeHash }) {
  let theme = "auto";

  function setTheme(name) {
    theme = THEMES.includes(name) ? name : "auto";
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    say(byId("theme"), `Theme: ${theme}`);
  }

  function stored(value) {
    try {
      if (value) localStorage.setItem("sugenet theme", value);
      return localStorage.getItem("sugenet theme");
    } catch {
      return null; // a file opened from disk may have no storage
    }
  }

  function makeHelp() {
    const keys = [
      ["Arrows", payload.grid ? `move over the ${unit(payload)}s` : "move a slider"],
      ["Space", "next level; with Shift the one before"],
      ["0 to 9", "set a level"],
      ["L", "hold it, or let it go"],
      ["U", "undo; with Shift redo"],
      ["R", "back to the sample"],
      ["N, P", "next and previous sample"],
      ...(payload.results ? [["Arrows, Enter", "in the results: move over the rows, go to a sample"]] : []),
      ["?", "this list"],
      ["Esc", "close"],
    ];
    fill(
      byId("keys"),
      h("h2", { id: "keys-title" }, "Keys"),
      h("dl", null, keys.map(([key, text]) => [h("dt", null, h("kbd", null, key)), h("dd", null, text)]).flat()),
      !payload.outside && h("p", { class: "quiet" }, "The page's address holds what you see: share it, and others see the same."),
      h("p", null, button("Close", () => byId("keys").close(), null, "primary")),
    );
  }

  function share() {
    writeHash(true);
    copy(location.href, "The link to this very screen is copied.");
  }

  function refresh() {
    const { truth } = payload.samples[state.sample];
    if (byId("which").length !== payload.samples.length) {
      fill(byId("which"), payload.samples.map((sample, i) => h("option", { value: i }, String(sample.index ?? i))));
    }
    byId("which").selectedIndex = state.sample;
    const isWrong = truth !== state.baseResult.label;
    say(byId("truth"), truth === null || truth === undefined ? "" : `truth: ${payload.classes[truth]}${isWrong ? ", so the network is wrong here" : ""}`);
  }

  // Questions within the training range, or about all values: a page of its own address, as far as an address can say so.
  function makeRange() {
    const link = byId("to-range");
    link.hidden = !("anywhere" in payload) || payload.outside || !/^(https?|file):$/.test(location.protocol);
    say(link, payload.within ? "Training range" : "Any values");
    link.title = payload.within ? "Ask within the range of the training data" : "Ask about values outside the training range as well";
    const lead = () => { link.href = `${location.pathname}${payload.within ? "" : "?within=any"}${location.hash}`; };
    lead();
    link.addEventListener("click", () => {
      writeHash(true);
      lead();
    });
  }

  makeRange();
  byId("which").addEventListener("change", () => goTo(byId("which").selectedIndex));
  byId("before").addEventListener("click", () => goTo(state.sample - 1));
  byId("after").addEventListener("click", () => goTo(state.sample + 1));
  byId("before").hidden = byId("after").hidden = payload.samples.length < 2;
  byId("help").hidden = isPhone();
  byId("help").addEventListener("click", () => byId("keys").showModal());
  byId("share").addEventListener("click", share);
  byId("theme").addEventListener("click", () => {
    setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]);
    stored(theme);
  });
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("input").focus();
  });
  say(byId("title"), payload.title);
  const alone = `everything is worked out in this ${payload.outside ? "cell, and the notebook follows" : "file, nothing is sent anywhere"}`;
  const where = payload.server ? "longer questions go to the server on this computer" : alone;
  say(byId("about"), `${payload.description}. Fingerprint ${payload.fingerprint.slice(0, 16)}. sugenet ${payload.sugenet}; ${where}.`);
  setTheme(stored());
  makeHelp();
  return { refresh };
}
