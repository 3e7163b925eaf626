// Which agents the list shows, in which order and in which groups. Rows move only when an
// agent's state changes, or when an agent starts or ends: what it does, costs or says does
// not move it.
import { at } from '../core/time.js';
import { searchText, states } from './agents.js';

/** Ways to sort, by the name in the address. */
export const sorts = { needs: 'Needs me first', newest: 'Newest first', longest: 'Longest first', cost: 'Highest cost first' };
/** Ways to group, by the name in the address. */
export const groupings = { run: 'By run', machine: 'By machine', none: 'Not grouped' };

const newest = (a, b) => at(b.started) - at(a.started) || (a.id < b.id ? -1 : 1);
const compare = {
  needs: (a, b) => states.indexOf(a.state) - states.indexOf(b.state) || newest(a, b),
  newest,
  longest: (a, b) => newest(b, a),
  cost: (a, b) => b.usd - a.usd || b.tokens - a.tokens || newest(a, b),
};

/** Remembers the order of agents. A list has one. */
export class Order {
  constructor() {
    this.signature = '';
    /** Positions by id. @type {Map<string, number>} */
    this.places = new Map();
  }

  /**
   * The agents in order. The order is computed again only if agents have started, ended or
   * changed their state since.
   * @template {import('./agents.js').Agent} A
   * @param {A[]} list @param {string} sort
   */
  sorted(list, sort) {
    const signature = `${sort} ${list.map((a) => `${a.id}:${a.state}`).sort().join(' ')}`;
    if (signature !== this.signature) {
      this.signature = signature;
      this.places = new Map([...list].sort(compare[sort] ?? compare.needs).map((a, i) => [a.id, i]));
    }
    return [...list].sort((a, b) => this.places.get(a.id) - this.places.get(b.id));
  }
}

/**
 * The agents that the filters of the address select.
 * @template {import('./agents.js').Agent} A
 * @param {A[]} list @param {{state: string, words: string[]}} filter
 */
export const select = (list, { state, words }) => list.filter((a) => (!state || a.state === state) && (!words.length || contains(searchText(a), words)));

const contains = (text, words) => words.every((w) => text.includes(w));

/**
 * Divides agents in order into groups. Groups with an agent that waits for the user come
 * first if that is the order, and agents without a run last.
 * @template {import('./agents.js').Agent} A
 * @param {A[]} list @param {string} by @param {string} sort
 * @returns {{key: string, kind: string, name: string, rows: A[]}[]}
 */
export function grouped(list, by, sort) {
  if (by === 'none') return [{ key: '', kind: 'none', name: '', rows: list }];
  const found = new Map();
  for (const a of list) {
    const [key, kind, name] = by === 'machine' ? [a.machine, 'machine', a.machine] : groupOfRun(a);
    if (!found.has(key)) found.set(key, { key, kind, name, rows: [] });
    found.get(key).rows.push(a);
  }
  const groups = [...found.values()];
  const rank = (g) => (sort === 'needs' && g.rows.some((a) => a.state === 'waiting') ? 0 : g.kind === 'run' || g.kind === 'machine' ? 1 : 2);
  return groups.sort((a, b) => rank(a) - rank(b)); // a stable sort: otherwise the group of the first agent comes first
}

function groupOfRun(a) {
  if (a.run) return [a.run, 'run', a.runName];
  return a.kind === 'hand' ? ['hand', 'hand', 'Started by hand'] : ['protocol', 'protocol', 'Agents of channels'];
}

/** The number of agents by state. @param {import('./agents.js').Agent[]} list */
export function countsOf(list) {
  const n = Object.fromEntries(states.map((s) => [s, 0]));
  for (const a of list) n[a.state]++;
  return n;
}
