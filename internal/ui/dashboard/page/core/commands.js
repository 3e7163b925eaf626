// The actions of the shown page, for the command palette.
import { Mounted } from './mounted.js';

/**
 * id is stable: the palette remembers by it which commands were used last. keys are the
 * keys that do the same. group is the heading in the palette; without one, the command is
 * of the shown page.
 * @typedef {{id: string, title: string, hint?: string, keys?: string, group?: string, run: () => void}} Command
 */

/** @type {Mounted<() => Command[]>} */
const lists = new Mounted();

/**
 * Adds commands while a component is shown. The function is called when the palette opens.
 * @param {() => Command[]} list
 */
export const useCommands = (list) => lists.use(list);

/** The commands that can be performed now, those of the page first. @returns {Command[]} */
export function commands() {
  const found = new Map();
  for (const list of lists.all()) for (const c of list()) if (!found.has(c.id)) found.set(c.id, c);
  return [...found.values()];
}
