// The engine behind the page: takes the model once, then one piece of work after another. A worker that is no longer wanted is ended.
// The page runs the same text for what is quick; only a worker, which has no document, listens.

import { bounds } from "./bounds.js";
import { certify } from "./certify.js";
import { check } from "./check.js";
import { free } from "./free.js";
import { askedOf, Model } from "./model.js";
import { towards } from "./search.js";
import { countUpTo, nearest } from "./walk.js";

const WORK = {
  nearest: (model, { states, ...rest }) => nearest(model, states, rest),
  count: (model, { states, ...rest }) => countUpTo(model, states, rest),
  towards: (model, { states, ...rest }) => towards(model, states, rest),
  free: (model, { states, ...rest }) => free(model, states, rest),
  bounds: (model, { allowed }) => bounds(model, allowed),
  certify: (model, args) => certify(model, args),
  check: (model, { text }) => check(text, model),
};

function listen() {
  let model = null;
  let about = null;
  self.addEventListener("message", ({ data }) => {
    if (data.payload) {
      about = data.payload;
      model = askedOf(about);
      return;
    }
    const { id, name, args } = data;
    try {
      const onProgress = (progress) => self.postMessage({ id, progress });
      // Certificates spell out their domain, whatever the page's network knows.
      const asked = name === "check" && about.domain ? new Model({ ...about, domain: null }) : model;
      self.postMessage({ id, result: WORK[name](asked, { ...args, onProgress }) });
    } catch (error) {
      self.postMessage({ id, error: String(error?.message ?? error) });
    }
  });
}

if (typeof document === "undefined") listen();
