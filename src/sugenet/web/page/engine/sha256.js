// SHA-256 (FIPS 180-4) of bytes that arrive in pieces. The browser's own is not there in every page, and has no pieces.

const K = new Uint32Array(64);
const START = new Uint32Array(8);

// The first 32 bits of the fractional part of a root, in exact arithmetic: the root of n * 2^(32 * degree), without its integer part.
function fraction(n, degree) {
  const wanted = BigInt(n) << BigInt(32 * degree);
  let low = 0n;
  let high = 1n << 40n;
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** BigInt(degree) <= wanted) low = middle;
    else high = middle;
  }
  return Number(low & 0xffffffffn);
}

for (let n = 2, count = 0; count < 64; n++) {
  let isPrime = true;
  for (let d = 2; d * d <= n; d++) if (n % d === 0) isPrime = false;
  if (!isPrime) continue;
  if (count < 8) START[count] = fraction(n, 2);
  K[count++] = fraction(n, 3);
}

export class Sha256 {
  constructor() {
    this.state = START.slice();
    this.words = new Uint32Array(64);
    this.block = new Uint8Array(64);
    this.length = 0;
  }

  update(bytes) {
    let at = 0;
    while (at < bytes.length) {
      const used = this.length & 63;
      const piece = Math.min(64 - used, bytes.length - at);
      this.block.set(bytes.subarray(at, at + piece), used);
      at += piece;
      this.length += piece;
      if (used + piece === 64) this.compress();
    }
    return this;
  }

  compress() {
    const { words, block, state } = this;
    for (let i = 0; i < 16; i++) {
      words[i] = (block[4 * i] << 24) | (block[4 * i + 1] << 16) | (block[4 * i + 2] << 8) | block[4 * i + 3];
    }
    for (let i = 16; i < 64; i++) {
      const [x, y] = [words[i - 15], words[i - 2]];
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      words[i] = words[i - 16] + s0 + words[i - 7] + s1;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + words[i]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + t1) | 0;
      d = c;
      c = b;
      b = a;
      a = (t1 + t2) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((value, i) => { state[i] += value; });
  }

  // The 32 bytes of the digest. No more bytes can follow.
  digest() {
    const bits = BigInt(this.length) * 8n;
    const rest = (this.length + 9) & 63;
    const end = new Uint8Array(9 + (rest ? 64 - rest : 0));
    end[0] = 0x80;
    new DataView(end.buffer).setBigUint64(end.length - 8, bits);
    this.update(end);
    const out = new DataView(new ArrayBuffer(32));
    this.state.forEach((word, i) => out.setUint32(4 * i, word));
    return new Uint8Array(out.buffer);
  }

  hex() {
    return Array.from(this.digest(), (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
}
