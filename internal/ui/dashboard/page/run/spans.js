// The start and end times of attempts and questions, for the timeline.
import { at } from '../core/time.js';

/** Cache of parsed times by row. Rows are never modified. @type {WeakMap<object, {start: number, end: number}>} */
const read = new WeakMap();

function timesOf(row, start, end) {
  let t = read.get(row);
  if (!t) read.set(row, t = { start: at(row[start]), end: at(row[end]) });
  return t;
}

/**
 * @typedef {{start: number, end: number, row: any}} Span end is NaN if it has not ended
 * @typedef {{tries: Span[], asked: Span[]}} History
 */

/**
 * The attempts and questions of each task, sorted by time.
 * @param {Iterable<any>} attempts @param {Iterable<any>} questions
 * @returns {Map<string, History>}
 */
export function historiesOf(attempts, questions) {
  const all = new Map();
  const of = (task) => all.get(task) ?? (all.set(task, { tries: [], asked: [] }), all.get(task));
  for (const a of attempts) {
    const t = timesOf(a, 'started', 'ended');
    if (!Number.isNaN(t.start)) of(a.task).tries.push({ ...t, row: a });
  }
  for (const q of questions) {
    const t = timesOf(q, 'asked', 'answered');
    if (!Number.isNaN(t.start)) of(q.task).asked.push({ ...t, row: q });
  }
  for (const h of all.values()) {
    h.tries.sort((a, b) => a.start - b.start);
    for (const q of h.asked) q.end = endOfQuestion(q, h.tries);
  }
  return all;
}

// An unanswered question ends with its attempt.
function endOfQuestion(q, tries) {
  if (!Number.isNaN(q.end)) return q.end;
  const during = tries.findLast((t) => t.start <= q.start);
  return during?.end ?? NaN;
}

/** The first start and the last end of each task; a running task ends now. @param {Map<string, History>} histories @param {number} now */
export function wholeSpans(histories, now) {
  const spans = new Map();
  for (const [id, { tries }] of histories) {
    if (!tries.length) continue;
    const end = tries.reduce((last, t) => Math.max(last, Number.isNaN(t.end) ? now : t.end), -Infinity);
    spans.set(id, { start: tries[0].start, end });
  }
  return spans;
}

/**
 * The periods in which a task waited for its next attempt.
 * @param {History} history @param {any} task @param {number} now
 * @returns {{start: number, end: number, limited: boolean, why: string}[]}
 */
export function waitsOf({ tries }, task, now) {
  const waits = [];
  tries.forEach((t, k) => {
    const next = tries[k + 1]?.start ?? (task?.status === 'queued' ? now : NaN);
    if (Number.isNaN(next) || Number.isNaN(t.end) || next <= t.end) return;
    const why = typeof t.row.class === 'string' ? t.row.class : '';
    waits.push({ start: t.end, end: next, limited: why === 'rate_limited', why });
  });
  return waits;
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800].map((s) => s * 1000);

/**
 * The times of an axis's ticks, at round distances from begin.
 * @param {number} begin @param {number} from @param {number} to @param {number} most the maximum number of ticks
 * @returns {number[]}
 */
export function marks(begin, from, to, most) {
  const step = steps.find((s) => (to - from) / s <= most) ?? Math.ceil((to - from) / most / 86400000) * 86400000;
  const list = [];
  for (let t = begin + Math.ceil((from - begin) / step) * step; t <= to; t += step) list.push(t);
  return list;
}
