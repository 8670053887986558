// The page inside something else, such as a cell of a notebook: it tells its frame what it shows, and goes where that says.
import { byId } from "./dom.js";

export function makeOutside({ payload, model, state }) {
  if (!payload.outside) return;
  for (const id of ["share", "to-lesson"]) byId(id).hidden = true; // both need an address, and the frame has none
  let led = false;
  let turn = 0; // which of the samples that the frame gave is the one that changes are counted from

  const tell = (message) => window.parent.postMessage({ sugenet: turn, ...message }, "*");
  const same = (left, right) => left.every((value, place) => value === right[place]);
  const fits = (values) =>
    Array.isArray(values) && values.length === state.values.length && values.every((value, f) => model.features[f].coding.takes(value));

  function go(next, start, values) {
    if (next !== turn) {
      turn = next;
      payload.samples[0] = { index: null, values: start, truth: null };
      state.choice.answer = null;
      state.load(0);
      if (!same(values, start)) values.forEach((value, feature) => state.put(feature, value));
      state.evaluate();
      state.tell("sample");
    } else if (!same(values, state.values)) {
      state.stroke();
      state.setValues(values);
    }
  }

  window.addEventListener("message", ({ source, data }) => {
    if (source !== window.parent || !Number.isInteger(data?.sugenet)) return;
    if (fits(data.start) && fits(data.values)) {
      led = true; // what the frame said is not told back to it: there, something newer may stand
      go(data.sugenet, data.start, data.values);
      led = false;
    }
  });
  state.on((what) => {
    if (!led && (what === "input" || what === "sample")) tell({ values: state.values });
  });
  tell({ ready: true });
}
