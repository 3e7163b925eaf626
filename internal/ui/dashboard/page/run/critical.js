// The critical path: the chain of tasks that a run has taken its time for.
import { nextOf, wavesBelow } from './structure.js';

// A task that begins within this time of what it names, in milliseconds, has waited
// for that. Another one that begins within the longer time of any task's end has
// waited for the place in which that one ran.
const named = 500;
const freed = 1000;

/**
 * Walks back from the task that ends last: to the task that it waited for, and so
 * on. That is the last to end of those it names or, if it began long after those,
 * the one that ended just before. Of several tasks that still go on it begins with
 * the one that the most layers follow.
 * @param {import('./structure.js').Structure} s
 * @param {Map<string, {start: number, end: number}>} spans when each task first began and last ended, or now
 * @returns {{ids: string[], work: number, wait: number}} in order, with the time that they took and that lay between them
 */
export function criticalPath(s, spans) {
  const below = wavesBelow(s);
  const last = lastOfWaves(s, spans);
  let begin = Infinity;
  for (const { start } of spans.values()) begin = Math.min(begin, start);
  const ended = s.ids.map((_, i) => i).filter((i) => spans.has(s.ids[i])).sort((a, b) => end(s, spans, a) - end(s, spans, b));
  const path = [];
  const seen = new Set();
  for (let i = theLast(s, spans); i >= 0 && !seen.has(i);) {
    seen.add(i);
    path.unshift(i);
    const by = cause(s, spans, i, last.get(below[i]));
    const { start } = spans.get(s.ids[i]);
    const waited = start - (by < 0 ? begin : end(s, spans, by));
    const before = waited > named ? lastBefore(s, spans, ended, start, seen) : -1;
    i = before >= 0 && start - end(s, spans, before) <= freed ? before : by;
  }
  return measured(path.map((i) => s.ids[i]), spans);
}

function measured(ids, spans) {
  let work = 0;
  let wait = 0;
  ids.forEach((id, k) => {
    const { start, end } = spans.get(id);
    const ready = k ? spans.get(ids[k - 1]).end : start;
    work += Math.max(0, end - start);
    wait += Math.max(0, start - ready);
  });
  return { ids, work, wait };
}

const end = (s, spans, i) => spans.get(s.ids[i])?.end ?? -Infinity;

function theLast(s, spans) {
  const rest = followers(s);
  let best = -1;
  for (let i = 0; i < s.ids.length; i++) {
    const e = end(s, spans, i);
    if (e === -Infinity) continue;
    if (best < 0 || e > end(s, spans, best) || (e === end(s, spans, best) && rest[i] > rest[best])) best = i;
  }
  return best;
}

// followers is how many layers still follow on each task.
function followers(s) {
  const next = nextOf(s);
  const rest = new Array(s.ids.length).fill(0);
  for (const i of [...s.order].reverse()) {
    for (const j of next[i]) rest[i] = Math.max(rest[i], rest[j] + 1);
    if (s.waves[i]) rest[i] = Math.max(rest[i], s.depth - s.layers[i]);
  }
  return rest;
}

// lastBefore is the task that ended last before a time, of those in the order of
// their end that are not on the path yet; -1 if there is none.
function lastBefore(s, spans, ended, time, path) {
  let low = 0;
  for (let high = ended.length; low < high;) {
    const middle = (low + high) >> 1;
    if (end(s, spans, ended[middle]) <= time) low = middle + 1;
    else high = middle;
  }
  while (low > 0 && path.has(ended[low - 1])) low--;
  return low > 0 ? ended[low - 1] : -1;
}

function cause(s, spans, i, ofWave) {
  let best = ofWave ?? -1;
  for (const j of s.after[i]) if (best < 0 || end(s, spans, j) > end(s, spans, best)) best = j;
  return best >= 0 && end(s, spans, best) > -Infinity ? best : -1;
}

// lastOfWaves is, for each wave, the task that ended last of it and all below it.
function lastOfWaves(s, spans) {
  const last = new Map();
  let best = -1;
  const waved = s.ids.map((_, i) => i).filter((i) => s.waves[i]).sort((a, b) => s.waves[a] - s.waves[b]);
  for (const i of waved) {
    if (end(s, spans, i) > -Infinity && (best < 0 || end(s, spans, i) > end(s, spans, best))) best = i;
    if (best >= 0) last.set(s.waves[i], best);
  }
  return last;
}
