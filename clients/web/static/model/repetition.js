// When what was learnt is due again: later after each right answer, at once after a wrong one.

/** @typedef {{right: number, due: number}} Learnt  `right` counts right answers in a row; `due` is a time in ms. */

export const DAY_MS = 86_400_000;
/** Days until something is due again, by the number of right answers in a row. */
const DAYS = [0, 1, 3, 7, 16, 40, 100];

/** Note an answer. @param {Learnt} one @param {boolean} right @param {number} now a time in ms */
export function answered(one, right, now) {
  one.right = right ? Math.min(one.right + 1, DAYS.length - 1) : 0;
  one.due = now + DAYS[one.right] * DAY_MS;
}

/** Return those that are due. @template {Learnt} T @param {T[]} list @param {number} now a time in ms */
export const dueOf = (list, now) => list.filter((one) => one.due <= now);

/** Return the one that is due first, another one than `last` if there is one; undefined without any.
 * @template {Learnt} T @param {T[]} list @param {T} [last] @returns {T|undefined} */
export function dueFirst(list, last) {
  const others = list.filter((one) => one !== last);
  return (others.length ? others : list).reduce(
    (first, one) => (first && first.due <= one.due ? first : one),
    /** @type {T|undefined} */ (undefined),
  );
}
