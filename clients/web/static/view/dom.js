// Making elements: text goes in as text, never as markup.

/** @param {string} tag @param {Record<string, any>} [attributes] `class`, `text`, `on…` listeners, data-…, aria-…
 * @param {...(Node|string|null|undefined)} children @returns {any} */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  set(made, attributes);
  made.append(...children.filter((one) => one !== null && one !== undefined));
  return made;
}

/** Make an SVG element, as `el` does. @param {string} tag @param {Record<string, any>} [attributes]
 * @param {...Node} children @returns {any} */
export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(made, attributes);
  made.append(...children);
  return made;
}

/** @param {Element} made @param {Record<string, any>} attributes */
function set(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") made.textContent = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
}

/** Return the element with that id, which must exist. @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/** Have a press of a button act. @param {string} id @param {(event: any) => void} act */
export const press = (id, act) => byId(id).addEventListener("click", act);

/** @param {Element} element @param {...(Node|string|null|undefined)} children */
export const fill = (element, ...children) =>
  element.replaceChildren(...children.filter((one) => one !== null && one !== undefined));

/** Fill a choice: a value each, and a text where that is another. @param {string} id
 * @param {[any, string?][]} options @param {any} [now] the value that is chosen */
export const offer = (id, options, now) =>
  fill(byId(id), ...options.map(([value, text = value]) => el("option", { value, text, selected: value === now })));

/** Return a number with its sign: +4, −6, 0. @param {number} value */
export const signed = (value) => (value > 0 ? `+${value}` : value < 0 ? `\u2212${-value}` : "0");

/** Offer a text or bytes as a file. @param {string} name @param {BlobPart} data @param {string} type */
export function save(name, data, type) {
  const address = URL.createObjectURL(new Blob([data], { type }));
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
