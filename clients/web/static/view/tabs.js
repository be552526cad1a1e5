// The tabs: which pane is shown.

import { Teller } from "../model/teller.js";
import { byId } from "./dom.js";

/** @typedef {import("../main.js").App} App */

/** Tells the name of a pane whenever one is shown. */
export class Tabs extends Teller {
  /** @param {Pick<App, "preferences">} page */
  constructor({ preferences }) {
    super();
    this.preferences = preferences;
    /** @type {any[]} */
    this.tabs = [...document.querySelectorAll("[role=tab]")];
    for (const tab of this.tabs) tab.addEventListener("click", () => this.show(tab.dataset.pane));
    byId("tabs").addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!by) return;
      event.preventDefault();
      const seen = this.tabs.filter((tab) => !tab.hidden);
      const to = seen[(seen.indexOf(event.target) + by + seen.length) % seen.length];
      to.click();
      to.focus();
    });
  }

  /** Show a pane and mark its tab. @param {string} name */
  show(name) {
    for (const tab of this.tabs) {
      const here = tab.dataset.pane === name;
      tab.setAttribute("aria-selected", String(here));
      tab.setAttribute("tabindex", here ? "0" : "-1");
      byId(`pane-${tab.dataset.pane}`).hidden = !here;
    }
    this.preferences.set("pane", name);
    this.tell(name);
  }
}
