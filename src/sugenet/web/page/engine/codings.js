// How one raw feature becomes bits, and what its states are called: the same as sugenet.nn.codings, in the same words.
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
    this.limit = Array.isArray(data.limit) ? [data.limit[0] ?? -Infinity, data.limit[1] ?? Infinity] : (data.limit ?? null); // or {values}
    this.silent = data.silent ?? []; // cuts of laws, that the network does not read
    this.own = this.cuts.map((_, place) => place).filter((place) => !this.silent.includes(place));
    this.width = this.own.length;
    this.states = this.cuts.length + 1;
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
    let high = this.cuts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (reached(this.cuts[middle])) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Whether the encoder takes this raw value: an integer or a float of its range.
  takes(value) {
    if (typeof value !== "number" && typeof value !== "string") return false;
    let number;
    try {
      number = this.read(value);
    } catch {
      return false;
    }
    if (number instanceof Fraction) {
      const isValue = this.whole ? number.isWhole : sameNumber(number, number.toNumber());
      return isValue && exceeds(number, this.low) && !(exceeds(number, this.high) && !sameNumber(number, this.high));
    }
    return Number.isFinite(number) && number >= this.low && number <= this.high && (!this.whole || Number.isInteger(number));
  }

  // Least and largest raw value of a state, both included; null when no value that can occur has it.
  interval(state, ends = [this.low, this.high]) {
    let low = state === 0 ? ends[0] : Math.max(ends[0], this.cuts[state - 1]);
    let high = state === this.cuts.length || this.cuts[state] === Infinity ? ends[1] : Math.min(ends[1], nextDown(this.cuts[state]));
    if (this.whole) {
      low = Math.ceil(low);
      high = Math.floor(high);
    }
    return low <= high && low < Infinity && high > -Infinity ? [low, high] : null;
  }

  reachable(state) {
    return this.interval(state) !== null;
  }

  // What of a state is within the limits: as its interval, or as a list of values.
  within(state) {
    if (Array.isArray(this.limit)) return this.interval(state, this.limit);
    const found = this.limit.values.filter((value) => this.state(value) === state);
    return found.length ? found : null;
  }

  // Whether a feature may move to a state: limits leave a value of it.
  possible(state) {
    return this.reachable(state) && (!this.limit || this.within(state) !== null);
  }

  // The raw value of a state nearest to another raw value; without one, a value that stands for the state. Within the limits, where the
  // state is.
  valueOf(state, near) {
    let ends = this.interval(state);
    if (ends === null) return null;
    const inside = this.limit && this.within(state);
    if (inside && !Array.isArray(this.limit)) return nearestOf(inside.map((value) => [this.exact(value), value]), this.exact(near ?? inside[0]));
    ends = inside ?? ends;
    if (near !== undefined && near !== null) {
      const here = this.read(near);
      return Math.min(Math.max(here instanceof Fraction ? here.toNumber() : here, ends[0]), ends[1]);
    }
    const [low, high] = ends;
    if (state === 0 && low !== -Infinity) return low;
    if (state === this.cuts.length && high !== Infinity) return high;
    if (low !== -Infinity && high !== Infinity) {
      const middle = Number.isFinite(high - low) ? low + (high - low) / 2 : low / 2 + high / 2;
      return this.whole ? Math.floor(middle) : middle;
    }
    return low !== -Infinity ? low : high !== Infinity ? high : 0;
  }

  // The same in few digits, for people to read and to type: a value of the state that is at most a little further from the other one.
  shownOf(state, near) {
    const value = this.valueOf(state, near);
    const inside = this.limit && this.within(state);
    if (value === null || this.bipolar || (inside && !Array.isArray(this.limit))) return value;
    return shorter(value, this.exact(near), inside ?? this.interval(state), this.whole);
  }

  exact(value) {
    const number = this.read(value);
    return number instanceof Fraction ? number : Fraction.ofNumber(number);
  }

  // What a state says of the value alone; nothing where the value itself says it all.
  span(state) {
    if (this.whole || this.bipolar) return "";
    const low = state === 0 ? [] : [`at least ${shortest(this.cuts[state - 1])}`];
    const high = state === this.cuts.length ? [] : [`below ${shortest(this.cuts[state])}`];
    return [...low, ...high].join(", ");
  }

  bit(state, place) {
    return this.own[place] < state ? 1 : 0;
  }

  // How many of the cuts that the network reads are reached.
  level(state) {
    return state - this.silent.filter((place) => place < state).length;
  }

  words(name, place, on) {
    if (this.bipolar) return `${name} = ${on ? "+1" : "-1"}`;
    return `${name} ${on ? ">=" : "<"} ${shortest(this.cuts[this.own[place]])}`;
  }

  describe(name, state) {
    if (this.bipolar && this.width) return this.words(name, 0, state === 1);
    const low = state === 0 ? null : shortest(this.cuts[state - 1]);
    const high = state === this.cuts.length ? null : shortest(this.cuts[state]);
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
    const cuts = [first, last + 1].filter((t) => t >= 1 && t <= this.cuts.length).map((t) => this.cuts[t - 1]);
    return new Steps({ ...this, cuts, bipolar: false, silent: [] }).describe(name, first > 0 ? 1 : 0);
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
    this.limit = data.limit ?? null;
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

  possible(state) {
    return !this.limit || this.limit.values.some((value) => this.state(value) === state);
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

// Of pairs of exact and raw values the raw one that is nearest to a number; of two, the smaller.
function nearestOf(pairs, here) {
  const away = ([exact]) => exact.minus(here).abs();
  return pairs.reduce((a, b) => (away(b).compare(away(a)) < 0 || (away(b).compare(away(a)) === 0 && b[0].compare(a[0]) < 0) ? b : a))[1];
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
