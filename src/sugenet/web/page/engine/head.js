// The last layer: votes of the classes and their exact order. Scores compare as integers slope * M + offset; a tie goes to the lowest.

import { makeRows } from "./layers.js";

const SAFE = 2n ** 53n;

export class Head {
  constructor(data) {
    this.rows = makeRows(data);
    this.inputs = data.inputs;
    this.outputs = data.outputs;
    this.sizes = this.rows.sizes;
    this.scale = data.scale;
    this.bias = data.bias;
    const slopes = data.slopes.map(BigInt);
    const offsets = data.offsets.map(BigInt);
    // Differences of two ranks, and sums over all inputs on the way to them, must be exact as well: hence the factor 4.
    const largest = slopes.reduce((most, slope, k) => {
      const bound = 4n * (slope * BigInt(Math.max(this.sizes[k], 1)) + (offsets[k] < 0n ? -offsets[k] : offsets[k]));
      return bound > most ? bound : most;
    }, 0n);
    this.exactAsNumbers = largest < SAFE;
    this.number = this.exactAsNumbers ? Number : BigInt; // what integers become before they are added or compared
    this.slopes = slopes.map(this.number);
    this.offsets = offsets.map(this.number);
  }

  counts(values, packed, out = new Int32Array(this.outputs)) {
    this.rows.counts(values, packed, out);
    return out;
  }

  rank(votes, k) {
    return this.slopes[k] * this.number(votes[k]) + this.offsets[k];
  }

  // The class with the largest score; of equal ones the lowest number.
  label(votes) {
    let best = 0;
    let most = this.rank(votes, 0);
    for (let k = 1; k < this.outputs; k++) {
      const rank = this.rank(votes, k);
      if (rank > most) {
        best = k;
        most = rank;
      }
    }
    return best;
  }

  isTied(votes) {
    const most = this.rank(votes, this.label(votes));
    let tops = 0;
    for (let k = 0; k < this.outputs; k++) if (this.rank(votes, k) === most) tops++;
    return tops > 1;
  }

  // For showing only: floats decide nothing.
  scores(votes) {
    return Array.from(votes, (count, k) => this.scale[k] * (2 * count - this.sizes[k]) + this.bias[k]);
  }

  // exp(score - best score): 1 for the best class.
  possibility(votes) {
    const scores = this.scores(votes);
    const best = scores[this.label(votes)];
    return scores.map((score) => Math.min(1, Math.exp(score - best)));
  }
}
