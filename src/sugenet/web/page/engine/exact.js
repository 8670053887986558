// Fractions without rounding: a pair of BigInts in lowest terms, the denominator positive. Floats are taken as the numbers they are.

function gcd(a, b) {
  while (b) [a, b] = [b, a % b];
  return a < 0n ? -a : a;
}

const WRITTEN = /^[+-]?(?:[0-9]+(?:\/[0-9]*[1-9][0-9]*)?|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)$/;

// A number that somebody typed, as read_number of sugenet.capacity.arguments reads it: an integer or a fraction exactly, a decimal as
// the nearest float. What no float holds stays text; null for anything else.
export function readNumber(text) {
  const word = text.trim();
  if (word.length > 4000 || !WRITTEN.test(word)) return null;
  if (/[.eE]/.test(word)) return Number.isFinite(Number(word)) ? Number(word) : null;
  const exact = Fraction.ofText(word.replace("+", ""));
  const near = exact.toNumber();
  return Number.isFinite(near) && Fraction.ofNumber(near).compare(exact) === 0 ? near : exact.toString();
}

export class Fraction {
  constructor(top, bottom = 1n) {
    if (bottom === 0n) throw new RangeError("a fraction with denominator 0");
    const common = gcd(top, bottom) * (bottom < 0n ? -1n : 1n);
    this.top = top / common;
    this.bottom = bottom / common;
  }

  // The exact value of a float: every finite one is an integer times a power of two.
  static ofNumber(value) {
    if (!Number.isFinite(value)) throw new RangeError(`${value} is no fraction`);
    let bottom = 1n;
    while (!Number.isInteger(value)) {
      value *= 2; // exact, and at most 1074 times
      bottom *= 2n;
    }
    return new Fraction(BigInt(value), bottom);
  }

  // Text such as 3 or -7/2, and nothing else.
  static ofText(text) {
    const found = /^(-?[0-9]+)(?:\/([0-9]+))?$/.exec(text);
    if (!found) throw new RangeError(`${text.slice(0, 40)} is not a number such as 3 or -7/2`);
    return new Fraction(BigInt(found[1]), found[2] === undefined ? 1n : BigInt(found[2]));
  }

  plus(other) {
    return new Fraction(this.top * other.bottom + other.top * this.bottom, this.bottom * other.bottom);
  }

  minus(other) {
    return new Fraction(this.top * other.bottom - other.top * this.bottom, this.bottom * other.bottom);
  }

  times(other) {
    return new Fraction(this.top * other.top, this.bottom * other.bottom);
  }

  abs() {
    return this.top < 0n ? new Fraction(-this.top, this.bottom) : this;
  }

  // Negative, 0 or positive, as this is below, equal to or above the other.
  compare(other) {
    const difference = this.top * other.bottom - other.top * this.bottom;
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  }

  floor() {
    const whole = this.top / this.bottom; // towards 0
    return this.top < 0n && whole * this.bottom !== this.top ? whole - 1n : whole;
  }

  ceil() {
    return -new Fraction(-this.top, this.bottom).floor();
  }

  get isWhole() {
    return this.bottom === 1n;
  }

  // The largest float that is not above it, infinite beyond all floats: the float itself where it is one.
  toNumber() {
    const [top, bottom] = [this.top < 0n ? -this.top : this.top, this.bottom];
    const length = (value) => value.toString(2).length;
    const power = Math.max(length(top) - length(bottom) - 53, -1074); // 53 or 54 bits, or fewer for the smallest floats
    const [above, below] = power < 0 ? [top << BigInt(-power), bottom] : [top, bottom << BigInt(power)];
    const up = this.top < 0n ? below - 1n : 0n; // the size of a negative number is rounded up
    let size = (above + up) / below;
    if (size >> 53n) size = this.top < 0n ? (size + 1n) & ~1n : size & ~1n;
    return (this.top < 0n ? -1 : 1) * Number(size) * 2 ** power;
  }

  toString() {
    return this.isWhole ? `${this.top}` : `${this.top}/${this.bottom}`;
  }
}

export const ZERO = new Fraction(0n);
export const ONE = new Fraction(1n);

const FLOAT = new Float64Array(1);
const BITS = new BigInt64Array(FLOAT.buffer);

// The next smaller float, as nextafter(x, -inf).
export function nextDown(value) {
  if (value === -Infinity || Number.isNaN(value)) return value;
  if (value === 0) return -Number.MIN_VALUE;
  FLOAT[0] = value;
  BITS[0] += value > 0 ? -1n : 1n;
  return FLOAT[0];
}

// A float as Python writes it, so that words are the same on both sides: 4, 0.1, 1e-05, 1e+16.
export function shortest(value) {
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value === 0 ? 0 : value);
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const [digits, power] = value.toExponential().split("e");
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  const plain = String(value); // JavaScript turns to powers of ten below 1e-6 and from 1e21 only
  return plain.includes(".") ? plain : `${plain}.0`;
}

const DIGITS = 6; // a value of so few digits is shown as it is
const SMALL = 4; // zeros behind the point that do not make a number long
const FINER = 24; // powers of ten that are tried
const FURTHER = 10n; // a shorter one goes at most one part in so many further

// A number of fewer digits between two ends, beyond `value` as seen from `near`, and not much further: the shortest there is, or the
// number itself. Python has the same in sugenet.reason.shown.
export function shorter(value, near, [low, high], whole) {
  const many = lengthOf(value);
  if (many <= DIGITS) return value;
  const exact = Fraction.ofNumber(value);
  const away = exact.minus(near).abs().times(new Fraction(1n, FURTHER));
  const part = exact.abs().times(new Fraction(1n, 1000n));
  const further = away.compare(part) > 0 ? away : part;
  const first = powerOf(further) + 1;
  for (let power = first; power > first - FINER && !(whole && power < 0); power--) {
    const unit = power < 0 ? new Fraction(1n, 10n ** BigInt(-power)) : new Fraction(10n ** BigInt(power));
    const parts = exact.times(new Fraction(unit.bottom, unit.top));
    const decimal = new Fraction(exact.compare(near) > 0 ? parts.ceil() : parts.floor()).times(unit);
    const number = power < 0 ? Number(`${decimal.times(new Fraction(unit.bottom))}e${power}`) : Number(decimal.top);
    const close = decimal.minus(exact).abs().compare(further) <= 0;
    if (close && number >= low && number <= high && lengthOf(number) < many) return number;
  }
  return value;
}

// The largest power of ten that is at most this.
function powerOf(fraction) {
  if (fraction.top === 0n) return 0;
  let power = String(fraction.top).length - String(fraction.bottom).length;
  const at = (p) => (p < 0 ? new Fraction(1n, 10n ** BigInt(-p)) : new Fraction(10n ** BigInt(p)));
  if (at(power).compare(fraction) > 0) power--;
  return power;
}

// How many digits a number is written with, zeros at either end apart, but those of a very small one count.
function lengthOf(value) {
  const [digits, power] = value.toExponential().split("e");
  return digits.replace(/[-.]/g, "").replace(/^0+|0+$/g, "").length + Math.max(0, -SMALL - Number(power));
}
