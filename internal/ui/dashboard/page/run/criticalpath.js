// The critical path of a run: the chain of tasks that determined its duration.
import { nextOf, wavesBelow } from './structure.js';

// In milliseconds. A task that starts within `dependencyWaitMs` after its last dependency
// has ended waited for that dependency. A task that starts later, but within `slotWaitMs`
// after any other task has ended, waited for that task's slot.
const dependencyWaitMs = 500;
const slotWaitMs = 1000;

/**
 * Goes back from the task that ends last to the task that it waited for, and so on. A
 * task waited for the dependency that ended last or, if it started long after that, for
 * the task that ended just before its start. If several tasks are still running, the
 * path ends with the one that is followed by the most layers.
 * @param {import('./structure.js').Structure} s
 * @param {Map<string, {start: number, end: number}>} spans the first start and the last end of each task; now if it is running
 * @returns {{ids: string[], work: number, wait: number}} the path in order, the duration of its tasks, and the time between them
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
    const before = waited > dependencyWaitMs ? lastBefore(s, spans, ended, start, seen) : -1;
    i = before >= 0 && start - end(s, spans, before) <= slotWaitMs ? before : by;
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

// followers returns, for each task, the number of layers that follow it.
function followers(s) {
  const next = nextOf(s);
  const rest = new Array(s.ids.length).fill(0);
  for (const i of [...s.order].reverse()) {
    for (const j of next[i]) rest[i] = Math.max(rest[i], rest[j] + 1);
    if (s.waves[i]) rest[i] = Math.max(rest[i], s.depth - s.layers[i]);
  }
  return rest;
}

// lastBefore returns the task that ended last before a time and is not on the path yet,
// or -1. ended is sorted by end.
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

// lastOfWaves returns, for each wave, the task that ended last in this or a lower wave.
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
