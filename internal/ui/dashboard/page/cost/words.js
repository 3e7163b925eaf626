// Texts for amounts on the cost page.
import { count, dollars as exact, many } from '../core/words.js';

/** $0.42; $0 for a cost that is known to be nothing. @param {number} usd */
export const dollars = (usd) => (usd === 0 ? '$0' : exact(usd));

/** The cost of a group: unknown if no attempt reported it, with a + if some did not. @param {any} row */
export function costText(row) {
  if (row.usd === null || row.usd === undefined) return 'unknown';
  return dollars(row.usd) + (row.unknown > 0 ? '+' : '');
}

/** What the + means. @param {any} row */
export const costHint = (row) => (row.unknown > 0 && row.usd !== null ? `At least this: the cost of ${many(row.unknown, 'attempt')} of ${count(row.attempts)} is unknown.`
  : row.unknown > 0 ? 'The agent program does not report a cost.' : undefined);

/** The name of a group. @param {string} by @param {any} row */
export const groupName = (by, row) => row.key || (by === 'model' ? 'default model' : `no ${by}`);

/** A number of tokens, or unknown if no attempt reported it. @param {any} row @param {number} n */
export const tokensText = (row, n) => (row.uncounted === row.attempts ? 'unknown' : count(n));
