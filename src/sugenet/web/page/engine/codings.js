// How one raw feature becomes bits, and what its states are called: the same as sugenet.bnn.codings, in the same words.
// A state is a legal bit pattern. State t of Steps means "t cuts reached"; state c of OneHot is category c.

import { Fraction, nextDown, shorter, shortest } from "./exact.js";

// A number compared with rising cuts: bit t is on iff value >= cuts[t].
export class Steps {
  constructor(data) {
    this.kind = "steps";
    this.cuts = data.cuts.map(Number);
    this.low = data.low ?? -Infinity;
    this.high = data.high ?? Infinity;
    this.whole = data.whole;
    this.bipolar = data.bipolar;
    this.width = this.cuts.length;
    this.states = this.width + 1;
  }

  // A raw value as a number or, where it is text such as 1/3, an exact fraction; -1 is 0 for bipolar bits.
  read(value) {
    if (typeof value === "string") {
      const exact = Fraction.ofText(value);
      return this.bipolar && exact.isWhole && exact.top === -1n ? 0 : exact;
    }
    const number = Number(value);
    return this.bipolar && number === -1 ? 0 : number;
  }

  state(value) {
    const number = this.read(value);
    const reached = (cut) => (number instanceof Fraction ? exceeds(number, cut) : number >= cut);
    let low = 0;
    let high = this.width;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (reached(this.cuts[middle])) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Whether the encoder takes this raw value.
  takes(value) {
    if (!["number", "boolean", "string"].includes(typeof value)) return false;
    let number;
    try {
      number = this.read(value);
    } catch {
      return false;
    }
    if (number instanceof Fraction) {
      return exceeds(number, this.low) && !(exceeds(number, this.high) && !sameNumber(number, this.high)) && (!this.whole || number.isWhole);
    }
    return number >= this.low && number <= this.high && (!this.whole || Number.isInteger(number));
  }

  // Least and largest raw value of a state, both included; null when no value that can occur has it.
  interval(state) {
    let low = state === 0 ? this.low : Math.max(this.low, this.cuts[state - 1]);
    let high = state === this.width ? this.high : Math.min(this.high, nextDown(this.cuts[state]));
    if (this.whole) {
      low = Math.ceil(low);
      high = Math.floor(high);
    }
    return low <= high && low < Infinity && high > -Infinity ? [low, high] : null;
  }

  reachable(state) {
    return this.interval(state) !== null;
  }

  // The raw value of a state nearest to another raw value; without one, a value that stands for the state.
  valueOf(state, near) {
    const ends = this.interval(state);
    if (ends === null) return null;
    if (near !== undefined && near !== null) {
      const here = this.read(near);
      return Math.min(Math.max(here instanceof Fraction ? here.toNumber() : here, ends[0]), ends[1]);
    }
    const [low, high] = ends;
    if (state === 0 && low !== -Infinity) return low;
    if (state === this.width && high !== Infinity) return high;
    if (low !== -Infinity && high !== Infinity) {
      const middle = low + (high - low) / 2;
      return this.whole ? Math.floor(middle) : middle;
    }
    return low !== -Infinity ? low : high !== Infinity ? high : 0;
  }

  // The same in few digits, for people to read and to type: a value of the state that is at most a little further from the other one.
  shownOf(state, near) {
    const value = this.valueOf(state, near);
    if (value === null || this.bipolar) return value;
    const here = this.read(near);
    return shorter(value, here instanceof Fraction ? here : Fraction.ofNumber(here), this.interval(state), this.whole);
  }

  // What a state says of the value alone; nothing where the value itself says it all.
  span(state) {
    if (this.whole || this.bipolar) return "";
    const low = state === 0 ? [] : [`at least ${shortest(this.cuts[state - 1])}`];
    const high = state === this.width ? [] : [`below ${shortest(this.cuts[state])}`];
    return [...low, ...high].join(", ");
  }

  bit(state, place) {
    return place < state ? 1 : 0;
  }

  words(name, place, on) {
    if (this.bipolar) return `${name} = ${on ? "+1" : "-1"}`;
    return `${name} ${on ? ">=" : "<"} ${shortest(this.cuts[place])}`;
  }

  describe(name, state) {
    if (this.bipolar && this.width) return this.words(name, 0, state === 1);
    const low = state === 0 ? null : shortest(this.cuts[state - 1]);
    const high = state === this.width ? null : shortest(this.cuts[state]);
    const ends = this.whole ? this.interval(state) : null;
    if (ends && ends[0] === ends[1]) return `${name} = ${shortest(ends[0])}`;
    if (low === null) return high === null ? `${name} is anything` : `${name} < ${high}`;
    return high === null ? `${name} >= ${low}` : `${low} <= ${name} < ${high}`;
  }

  // Several states in words: each run of neighbours as one interval.
  describeSeveral(name, states) {
    const sorted = [...states].sort((a, b) => a - b);
    const runs = [];
    for (const state of sorted) {
      const last = runs.at(-1);
      if (last && last[1] === state - 1) last[1] = state;
      else runs.push([state, state]);
    }
    return runs.map(([first, last]) => this.run(name, first, last)).join(" or ");
  }

  run(name, first, last) {
    if (first === last) return this.describe(name, first);
    const cuts = [first, last + 1].filter((t) => t >= 1 && t <= this.width).map((t) => this.cuts[t - 1]);
    return new Steps({ ...this, cuts, bipolar: false }).describe(name, first > 0 ? 1 : 0);
  }
}

// A category: exactly one bit is on.
export class OneHot {
  constructor(data) {
    this.kind = "onehot";
    this.categories = data.categories;
    this.names = data.names;
    this.width = this.categories.length;
    this.states = this.width;
    this.places = new Map(this.categories.map((category, place) => [key(category), place]));
  }

  state(value) {
    return this.places.get(key(value)) ?? -1;
  }

  takes(value) {
    return this.places.has(key(value));
  }

  reachable(state) {
    return state >= 0 && state < this.states;
  }

  valueOf(state) {
    return this.categories[state];
  }

  shownOf(state) {
    return this.categories[state];
  }

  span() {
    return "";
  }

  bit(state, place) {
    return place === state ? 1 : 0;
  }

  words(name, place, on) {
    return `${name} ${on ? "=" : "!="} ${this.names[place]}`;
  }

  describe(name, state) {
    return this.words(name, state, true);
  }

  describeSeveral(name, states) {
    const leftOut = this.names.filter((_, state) => !states.includes(state));
    if (states.length === 1 || leftOut.length > states.length) return `${name} = ${states.map((s) => this.names[s]).join(" or ")}`;
    return leftOut.length ? leftOut.map((category) => `${name} != ${category}`).join(" and ") : `${name} is anything`;
  }
}

// Python takes True for 1 and False for 0, and text for nothing but itself.
function key(value) {
  return typeof value === "boolean" ? Number(value) : value;
}

function sameNumber(fraction, float) {
  return Number.isFinite(float) && fraction.compare(Fraction.ofNumber(float)) === 0;
}

// Whether a fraction is at least a float.
function exceeds(fraction, float) {
  return Number.isFinite(float) ? fraction.compare(Fraction.ofNumber(float)) >= 0 : float < 0;
}
