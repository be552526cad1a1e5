// The pane of settings; a control's `data-set` names its preference.

import { CLOSE, RATINGS } from "../model/store.js";
import { LANGUAGES, t } from "../view/texts.js";
import { offer } from "../view/dom.js";

/** @typedef {import("../main.js").App} App */

export class SettingsPane {
  /** @param {Pick<App, "preferences">} page */
  constructor({ preferences }) {
    this.preferences = preferences;
    this.draw();
    for (const control of document.querySelectorAll("[data-set]")) {
      control.addEventListener("change", () => {
        const input = /** @type {any} */ (control);
        const name = input.dataset.set;
        if (!input.checkValidity()) return;
        const value =
          input.type === "checkbox"
            ? input.checked
            : input.type === "number" || input.dataset.number !== undefined
              ? Number(input.value)
              : input.value;
        preferences.set(name, value);
      });
    }
    preferences.on(() => this.draw(), "language");
    preferences.on(() => this.fill());
  }

  /** Draw the choices in the chosen language. */
  draw() {
    offer("set-language", [["", t("themeSystem")], ...Object.entries(LANGUAGES)]);
    offer("set-theme", [
      ["", t("themeSystem")],
      ["light", t("themeLight")],
      ["dark", t("themeDark")],
    ]);
    offer("set-most", [[0, t("allMoves")], [1], [2], [3], [5]]);
    offer("set-strength", [
      [0, t("atLevel")],
      [CLOSE, t("stayClose")],
      ...RATINGS.map((rating) => /** @type {[number, string]} */ ([rating, t("asPeople", { rating })])),
    ]);
    for (const side of ["black", "white"])
      offer(`set-${side}`, [
        ["human", t("human")],
        ["engine", t("engine")],
      ]);
    this.fill();
  }

  /** Show and apply what is set. */
  fill() {
    const root = document.documentElement;
    const theme = this.preferences.get("theme");
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    root.classList.toggle("contrast", this.preferences.get("contrast"));
    for (const control of document.querySelectorAll("[data-set]")) {
      const input = /** @type {any} */ (control);
      const value = this.preferences.get(input.dataset.set);
      if (input.type === "checkbox") input.checked = value;
      else if (document.activeElement !== input) input.value = value;
    }
  }
}
