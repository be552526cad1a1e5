// Sentences for screen readers, one at a time: moves, passes, ends, final hints.

import { byId } from "./dom.js";

/** @param {string} text */
export function speak(text) {
  const place = byId("spoken");
  // A screen reader repeats a sentence only if the text differs.
  place.textContent = place.textContent === text ? `${text}\u00a0` : text;
}
