// A set of bit patterns: an open hash table in one array, a few words to a pattern.

export class SignatureTable {
  constructor(span) {
    this.span = span;
    this.size = 0;
    this.room(1 << 12);
  }

  room(places) {
    this.last = places - 1; // a power of two, less one
    this.keys = new Uint32Array(places * this.span);
    this.used = new Uint8Array(places);
  }

  // Puts a pattern in; whether it is new.
  add(key) {
    const { span, keys, used, last } = this;
    let hash = 0;
    for (let w = 0; w < span; w++) hash = Math.imul((hash ^ key[w]) + 0x9e3779b9, 0x85ebca6b) ^ (hash >>> 13);
    hash ^= hash >>> 16;
    let place = Math.imul(hash, 0xc2b2ae35) & last;
    while (used[place]) {
      let same = true;
      for (let w = 0, at = place * span; w < span; w++, at++) {
        if (keys[at] !== key[w]) {
          same = false;
          break;
        }
      }
      if (same) return false;
      place = (place + 1) & last;
    }
    used[place] = 1;
    keys.set(key, place * span);
    this.size++;
    if (2 * this.size > last) this.grow();
    return true;
  }

  grow() {
    const { keys, used, span } = this;
    this.room(2 * used.length);
    this.size = 0;
    for (const key of patternsIn({ keys, used, span })) this.add(key);
  }
}

function* patternsIn({ keys, used, span }) {
  for (let place = 0; place < used.length; place++) if (used[place]) yield keys.subarray(place * span, (place + 1) * span);
}
