// Who tells listeners what happens.

export class Teller extends EventTarget {
  /** @param {any} detail @param {string} [event] */
  tell(detail, event = "change") {
    this.dispatchEvent(new CustomEvent(event, { detail }));
  }

  /** @param {(detail: any) => void} act @param {string} [event] */
  on(act, event = "change") {
    this.addEventListener(event, (told) => act(/** @type {CustomEvent} */ (told).detail));
  }
}
