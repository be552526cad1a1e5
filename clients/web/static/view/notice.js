// Messages of one line above the board.

import { byId } from "./dom.js";

/** @type {ReturnType<typeof setTimeout>|undefined} */
let ending;

/** Show a message for eight seconds, in place of the one before; "" shows none. @param {string} text */
export function tell(text) {
  byId("notice").textContent = text;
  byId("notice").hidden = !text;
  clearTimeout(ending);
  ending = setTimeout(() => (byId("notice").hidden = true), 8000);
}

/** Show why a request was refused, unless the page itself cancelled it. @param {any} refusal */
export function complain(refusal) {
  if (refusal.code === "cancelled") return;
  tell(refusal.code && refusal.code !== "bad_request" ? `${refusal.code}: ${refusal.message}` : refusal.message);
}
