// The keys of the shown page and of the frame around it. One listener serves all of
// them, so a key has one meaning at a time, and the help lists what the keys do.
import { Mounted } from './mounted.js';

/**
 * Keys by name, such as n, Escape, or two keys one after the other: 'g c'. A key does its
 * function; with a text beside it, the help lists the key. A function that returns false
 * leaves the key to the tables below.
 * @typedef {Record<string, (() => any) | [() => any, string]>} Keys
 */

/** @type {Mounted<Keys>} */
const tables = new Mounted();

/**
 * Adds keys while a component is shown. The keys of an inner component come before those
 * of an outer one. They are ignored while the user types, and while a dialog is open.
 * @param {Keys} keys
 */
export const useKeys = (keys) => tables.use(keys);

/** The keys that have a text: those of the shown page, and those of the frame around it. @returns {{page: [string, string][], everywhere: [string, string][]}} */
export function describedKeys() {
  const all = tables.all();
  const described = (keys) => Object.entries(keys).filter(([, does]) => Array.isArray(does)).map(([name, does]) => [name, does[1]]);
  const page = new Map(all.slice(0, -1).reverse().flatMap(described));
  return { page: [...page], everywhere: described(all.at(-1) ?? {}).filter(([name]) => !page.has(name)) };
}

const typing = 'textarea,select,[contenteditable],input:not([type=checkbox],[type=radio],[type=button])';
const pause = 1500; // milliseconds between the two keys of one command

let before = { key: '', at: 0 };

/** @param {KeyboardEvent} e */
function press(e) {
  if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || e.isComposing) return;
  if (e.key === 'Shift' || document.querySelector('dialog[open], :popover-open')) return;
  if (e.target.closest?.(typing)) {
    if (e.key === 'Escape') leave(e);
    return;
  }
  const pair = e.timeStamp - before.at < pause ? `${before.key} ${e.key}` : '';
  before = { key: e.key, at: e.timeStamp };
  if ((pair && perform(pair)) || perform(e.key)) {
    e.preventDefault();
    if (pair) before.key = '';
  }
}

/** Performs the function of a key. @param {string} name @returns {boolean} whether there is one */
function perform(name) {
  for (const keys of tables.all()) {
    const does = Object.hasOwn(keys, name) && keys[name];
    if (does && (Array.isArray(does) ? does[0] : does)() !== false) return true;
  }
  return false;
}

// Escape in a filter clears it; in an empty filter, or another input, it leaves the input.
function leave(e) {
  const input = e.target;
  if (input.matches('[data-filter]') && input.value) {
    input.value = '';
    input.dispatchEvent(new Event('input', { bubbles: true }));
  } else {
    input.blur();
  }
  e.preventDefault();
}

addEventListener('keydown', press);
