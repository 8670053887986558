// For the checker: how long it may take. A look at the clock costs little, and is done between pieces of work that are short.

import { Beyond } from "./check_form.js";

export class Limit {
  constructor(seconds) {
    this.seconds = seconds;
    this.end = performance.now() + 1000 * seconds;
  }

  look() {
    if (performance.now() > this.end) throw new Beyond(`not checked within the limit: ${this.seconds} s were not enough.`);
  }
}
