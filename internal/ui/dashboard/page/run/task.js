// The state of a task in words, shared by all views of a run.
import { at, now } from '../core/time.js';
import { budgetLane, own, text } from '../core/words.js';

/** The first line of a text that is not blank. @param {unknown} value */
export const line = (value) => text(value).split('\n').find((l) => l.trim()) ?? '';

/** Whether a task has a name that differs from its id. */
export const named = (t) => text(t.name) !== '' && t.name !== t.id;

/** The statuses that tasks are counted by, in display order. */
export const states = ['waiting', 'running', 'queued', 'failed', 'complete', 'cancelled'];

/** A task's status for display: a running task with an open question is shown as waiting. */
export const stateOf = (t) => (t.status === 'running' && (t.question || t.attempt?.state === 'waiting') ? 'waiting' : text(t.status));

/** Whether a task has a status. A waiting task also counts as running. */
export const isOf = (t, wanted) => stateOf(t) === wanted || t.status === wanted;

/** The number of tasks by status. @param {Iterable<any>} tasks */
export function countsOf(tasks) {
  const n = { total: 0, waiting: 0, queued: 0, running: 0, complete: 0, failed: 0, cancelled: 0 };
  for (const t of tasks) {
    n.total++;
    n[t.status]++;
    if (stateOf(t) === 'waiting') n.waiting++;
  }
  return n;
}

/** The total cost of attempts. @param {Iterable<any>} attempts */
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

/** The attempt number and the maximum, such as "2/3"; empty before the first attempt. */
export const tryOf = (t) => (t.tries > 0 ? `${t.tries}/${Math.max(t.tries, 1 + (t.retries || 0))}` : '');

/** Whether a row's texts contain all words of a filter. @param {any} t @param {string[]} words in lower case */
export function matches(t, words) {
  if (!words.length) return true;
  const all = [t.id, t.name, t.agent, t.model, t.outcome, t.attempt?.worker, t.attempt?.doing, t.attempt?.summary, t.question?.text].map(text).join(' ').toLowerCase();
  return words.every((w) => all.includes(w));
}

/** The words of a filter. @param {string} filter */
export const wordsOf = (filter) => filter.toLowerCase().split(/\s+/).filter(Boolean);

/**
 * Says why a queued task has not started.
 * @param {any} t
 * @param {{row: (id: string) => any, unfinished: Map<number, number>, lanes: any[]}} among the run's other tasks, the number of incomplete tasks by wave, and the paused accounts
 */
export function waitsFor(t, { row, unfinished, lanes }) {
  const names = (Array.isArray(t.after) ? t.after : []).filter((id) => row(id) && row(id).status !== 'complete');
  if (names.length) return `waits for ${names.slice(0, 3).map(text).join(', ')}${names.length > 3 ? ` and ${names.length - 3} more` : ''}`;
  let lowest = Infinity;
  for (const [wave, count] of unfinished) if (count && wave < t.wave && wave < lowest) lowest = wave;
  if (lowest < Infinity) return `waits for wave ${lowest}`;
  const held = lanes.find((l) => budgetLane(l) && at(l.until) > now());
  if (held && t.agent !== 'command') return `⏸ ${text(held.reason)}`;
  const lane = lanes.find((l) => l.name === t.agent && at(l.until) > now());
  return lane ? `⏸ ${text(lane.name)} is paused` : 'ready, waits for a worker';
}

/** The number of incomplete tasks by wave. @param {Iterable<any>} tasks */
export function unfinishedOf(tasks) {
  const open = new Map();
  for (const t of tasks) if (t.wave > 0 && t.status !== 'complete') open.set(t.wave, (open.get(t.wave) ?? 0) + 1);
  return open;
}
