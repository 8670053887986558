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
};

function listen() {
  let model = null;
  let plain = null; // without a domain: certificates spell it out
  self.addEventListener("message", ({ data }) => {
    if (data.payload) {
      model = askedOf(data.payload);
      plain = new Model({ ...data.payload, domain: null });
      return;
    }
    const { id, name, args } = data;
    try {
      const onProgress = (progress) => self.postMessage({ id, progress });
      self.postMessage({ id, result: name === "check" ? check(args.certificate, plain) : WORK[name](model, { ...args, onProgress }) });
    } catch (error) {
      self.postMessage({ id, error: String(error?.message ?? error) });
    }
  });
}

if (typeof document === "undefined") listen();
