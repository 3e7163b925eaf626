// The words and signs of statuses, the same on every page. A status is always shown by
// a sign, a word and a colour.

const signs = {
  queued: '○', running: '●', complete: '✓', failed: '✗', cancelled: '⊘', waiting: '?', paused: '‖', retrying: '↻',
  online: '●', offline: '○', idle: '–',
  in_progress: '●', done: '✓', planned: '○', active: '●', completed: '✓', pending: '○', blocked: '!', timeout: '◷', 'awaiting-user': '?',
};

// Synonyms of the words that have a colour.
const kinds = {
  in_progress: 'running', active: 'running', done: 'complete', completed: 'complete', planned: 'queued', pending: 'queued',
  timeout: 'failed', blocked: 'waiting', retrying: 'waiting', 'awaiting-user': 'waiting',
};

/**
 * The value of an object for a name from outside. It ignores inherited members, such as
 * constructor.
 * @template V
 * @param {Record<string, V>} table @param {string} name @returns {V|undefined}
 */
export const own = (table, name) => (Object.hasOwn(table, name) ? table[name] : undefined);

/** A value of any type as text. @param {unknown} value */
export const text = (value) => (typeof value === 'string' ? value : value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value));

/** @param {string} word */
export const sign = (word) => own(signs, word) ?? '·';
/** The CSS class for a status's colour; 'other' for unknown words. @param {string} word */
export const kind = (word) => own(kinds, word) ?? (own(signs, word) ? word : 'other');

/** Whether a status is final. @param {string} status */
export const final = (status) => status === 'complete' || status === 'failed' || status === 'cancelled';

/** 1,234 or 12.3k or 4.5M. @param {number} n */
export function count(n) {
  if (!Number.isFinite(n)) return '';
  if (n < 1_000 && n >= 0 && Number.isInteger(n)) return String(n); // toLocaleString is slow
  if (n < 10_000) return n.toLocaleString('en');
  return n < 1_000_000 ? `${(n / 1000).toFixed(n < 100_000 ? 1 : 0)}k` : `${(n / 1_000_000).toFixed(1)}M`;
}

/** $1.23, or '' for zero. @param {number|undefined} usd */
export const money = (usd) => (usd ? dollars(usd) : '');

/** An amount with as many digits as it needs, such as $0.0047. @param {number} usd */
export const dollars = (usd) => moneyText(Math.round(usd * 1e6), moneyDigits(Math.round(usd * 1e6)));

/** What was spent of a limit. Rounding never hides that it is more. @param {number} spent @param {number} limit */
export function moneyOf(spent, limit) {
  const s = Math.round(spent * 1e6);
  const l = Math.round(limit * 1e6);
  let digits = moneyDigits(s);
  while (digits < 6 && s !== l && moneyText(s, digits) === moneyText(l, digits)) digits += 1;
  return `${moneyText(s, digits)} of ${dollars(limit)}`;
}

const moneyDigits = (micro) => (micro % 10000 === 0 || micro >= 100000 ? 2 : micro >= 100 ? 4 : 6);
const moneyText = (micro, digits) => `$${(Math.round(micro / 10 ** (6 - digits)) / 10 ** digits).toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;

/** "1 task", "2 tasks". @param {number} n @param {string} one */
export const many = (n, one) => `${count(n)} ${one}${n === 1 ? '' : 's'}`;

/** "42 kB". @param {number} n */
export function bytes(n) {
  const units = ['B', 'kB', 'MB', 'GB'];
  let i = 0;
  for (; n >= 1000 && i < units.length - 1; i++) n /= 1000;
  return `${i && n < 10 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}

/** Whether a lane is paused because a limit of the user is reached. @param {any} l */
export const budgetLane = (l) => String(l.name).startsWith('budget:');
