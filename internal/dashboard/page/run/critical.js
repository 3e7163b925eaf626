// The critical path: the chain of tasks that a run has taken its time for.
import { nextOf, wavesBelow } from './structure.js';

/**
 * Walks back from the task that ends last: to that one it waited for which ended
 * last, and so on. Of several that still go on it is the one that most has to
 * follow on.
 * @param {import('./structure.js').Structure} s
 * @param {Map<string, {start: number, end: number}>} spans when each task first began and last ended, or now
 * @returns {{ids: string[], work: number, wait: number}} in order, with the time that they took and that lay between them
 */
export function criticalPath(s, spans) {
  const below = wavesBelow(s);
  const last = lastOfWaves(s, spans);
  const path = [];
  const seen = new Set();
  for (let i = theLast(s, spans); i >= 0 && !seen.has(i); i = cause(s, spans, i, last.get(below[i]))) {
    seen.add(i);
    path.unshift(i);
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
