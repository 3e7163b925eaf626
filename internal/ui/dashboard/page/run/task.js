// How a task of a run stands, in the words that every view of a run uses.
import { at, now } from '../core/time.js';
import { own, text } from '../core/words.js';

/** The first line of a field that says something. @param {unknown} value */
export const line = (value) => text(value).split('\n').find((l) => l.trim()) ?? '';

/** Whether a task has a name beside its id. */
export const named = (t) => text(t.name) !== '' && t.name !== t.id;

/** The statuses that tasks are counted by, in the order in which they are shown. */
export const states = ['waiting', 'running', 'queued', 'failed', 'complete', 'cancelled'];

/** A task's status as people see it: one whose agent has asked something waits. */
export const stateOf = (t) => (t.status === 'running' && (t.question || t.attempt?.state === 'waiting') ? 'waiting' : text(t.status));

/** Whether a task is of a status. Those that wait also run. */
export const isOf = (t, wanted) => stateOf(t) === wanted || t.status === wanted;

/** How many tasks there are of each status. @param {Iterable<any>} tasks */
export function countsOf(tasks) {
  const n = { total: 0, waiting: 0, queued: 0, running: 0, complete: 0, failed: 0, cancelled: 0 };
  for (const t of tasks) {
    n.total++;
    n[t.status]++;
    if (stateOf(t) === 'waiting') n.waiting++;
  }
  return n;
}

/** What attempts have cost together. @param {Iterable<any>} attempts */
export function spentOf(attempts) {
  const sum = { usd: 0, tokens: 0 };
  for (const a of attempts) {
    sum.usd += Number(a?.spent?.usd) || 0;
    sum.tokens += Number(a?.spent?.tokens) || 0;
  }
  return sum;
}

/** Why a task was cancelled, in words. */
export const whyCancelled = (t) => own({ dependency: 'did not start: what it waits for did not complete', cancelled: t.tries > 0 ? 'was ended' : 'did not start' }, t.outcome) ?? line(t.outcome);

/** "attempt 2 of 3", or nothing before the first. */
export const tryOf = (t) => (t.tries > 0 ? `${t.tries}/${Math.max(t.tries, 1 + (t.retries || 0))}` : '');

/** Whether a filter's words are all in what a row shows. @param {any} t @param {string[]} words in lower case */
export function matches(t, words) {
  if (!words.length) return true;
  const all = [t.id, t.name, t.agent, t.model, t.outcome, t.attempt?.worker, t.attempt?.doing, t.attempt?.summary, t.question?.text].map(text).join(' ').toLowerCase();
  return words.every((w) => all.includes(w));
}

/** A filter as words. @param {string} filter */
export const wordsOf = (filter) => filter.toLowerCase().split(/\s+/).filter(Boolean);

/**
 * Why a queued task has not begun, in words.
 * @param {any} t
 * @param {{row: (id: string) => any, unfinished: Map<number, number>, lanes: any[]}} among the others of its run, how many of each wave are not complete, and what is paused
 */
export function waitsFor(t, { row, unfinished, lanes }) {
  const names = (Array.isArray(t.after) ? t.after : []).filter((id) => row(id) && row(id).status !== 'complete');
  if (names.length) return `waits for ${names.slice(0, 3).map(text).join(', ')}${names.length > 3 ? ` and ${names.length - 3} more` : ''}`;
  let lowest = Infinity;
  for (const [wave, count] of unfinished) if (count && wave < t.wave && wave < lowest) lowest = wave;
  if (lowest < Infinity) return `waits for wave ${lowest}`;
  const lane = lanes.find((l) => l.name === t.agent && at(l.until) > now());
  return lane ? `⏸ ${text(lane.name)} is paused` : 'ready, waits for a worker';
}

/** How many tasks of each wave are not complete. @param {Iterable<any>} tasks */
export function unfinishedOf(tasks) {
  const open = new Map();
  for (const t of tasks) if (t.wave > 0 && t.status !== 'complete') open.set(t.wave, (open.get(t.wave) ?? 0) + 1);
  return open;
}
