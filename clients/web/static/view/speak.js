// What a screen reader is told: moves, passes, ends, settled hints. One sentence at a time.

import { byId } from "./dom.js";

/** @param {string} text */
export function speak(text) {
  const place = byId("spoken");
  // The same words twice are told twice only where the text changes in between.
  place.textContent = place.textContent === text ? `${text}\u00a0` : text;
}
