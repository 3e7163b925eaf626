// What waits for what in a run. A task waits for those it names, and one with a
// wave for all of lower waves too.

/**
 * @typedef {object} Structure
 * @property {string[]} ids in the order of the plan
 * @property {Map<string, number>} at where an id is in ids
 * @property {number[]} waves of the plan; 0 for tasks without one
 * @property {number[][]} after the tasks that each names, by their place in ids
 * @property {number[]} layers of each task, from 1: one more than the last of those it waits for
 * @property {number} depth how many layers there are
 * @property {number[]} order by layer, then as in the plan
 */

const wave = (t) => (Number.isInteger(t.wave) && t.wave > 0 ? t.wave : 0);
const names = (t) => (Array.isArray(t.after) ? t.after : []);

/**
 * The structure of tasks. It is the same object as before while nothing of it has
 * changed, so that whoever draws it need not look again.
 * @param {any[]} tasks in the order of the plan
 * @param {Structure|null} [before]
 * @returns {Structure}
 */
export function structureOf(tasks, before) {
  if (before && same(before, tasks)) return before;
  const ids = tasks.map((t) => t.id);
  const at = new Map(ids.map((id, i) => [id, i]));
  const waves = tasks.map(wave);
  const after = tasks.map((t, i) => [...new Set(names(t).map((id) => at.get(id)))].filter((n) => n !== undefined && n !== i));
  const layers = layersOf(waves, after);
  const order = ids.map((_, i) => i).sort((a, b) => layers[a] - layers[b] || a - b);
  const depth = layers.reduce((most, l) => Math.max(most, l), 0);
  return { ids, at, waves, after, layers, depth, order, raw: tasks.map((t) => names(t).join('\n')) };
}

function same(s, tasks) {
  return s.ids.length === tasks.length
    && tasks.every((t, i) => t.id === s.ids[i] && wave(t) === s.waves[i] && names(t).join('\n') === s.raw[i]);
}

/** The waves that a plan has, in order. @param {number[]} waves */
const distinct = (waves) => [...new Set(waves)].filter((w) => w > 0).sort((a, b) => a - b);

// Between waves stands a gate that waits for all of the wave before, so that n
// tasks that wait for m others are n + m steps and not n times m.
function layersOf(waves, after) {
  const n = waves.length;
  const gate = new Map(distinct(waves).map((w, k) => [w, n + k]));
  const gates = [...gate.values()];
  const needs = [...after.map((list, i) => (waves[i] ? [...list, gate.get(waves[i])] : list)), ...gates.map((g, k) => (k ? [g - 1] : []))];
  waves.forEach((w, i) => { if (w && gate.get(w) + 1 < n + gates.length) needs[gate.get(w) + 1].push(i); });
  return longest(needs, n).slice(0, n);
}

// longest is how many tasks are on the longest way to each; gates, from first on,
// are none. Tasks that wait for each other in a circle are put after what is known.
function longest(needs, first) {
  const layer = new Array(needs.length).fill(0);
  const open = needs.map((list) => list.length);
  const next = needs.map(() => []);
  needs.forEach((list, i) => list.forEach((j) => next[j].push(i)));
  const queue = open.flatMap((count, i) => (count ? [] : [i]));
  const settle = (i) => { layer[i] = needs[i].reduce((most, j) => Math.max(most, layer[j]), 0) + (i < first ? 1 : 0); };
  for (let k = 0; k < queue.length; k++) {
    settle(queue[k]);
    for (const j of next[queue[k]]) if (--open[j] === 0) queue.push(j);
  }
  open.forEach((count, i) => { if (count > 0) settle(i); });
  return layer;
}

/** All that a task waits for, and all that waits for it, by name. @param {Structure} s @param {number} i */
export function pathOf(s, i) {
  const next = nextOf(s);
  const found = new Set([i]);
  for (const step of [s.after, next]) {
    const queue = [i];
    const seen = new Set(queue);
    for (const j of queue) for (const k of step[j]) if (!seen.has(k)) { seen.add(k); found.add(k); queue.push(k); }
  }
  return found;
}

const nexts = new WeakMap();

/** The tasks that name each task. @param {Structure} s @returns {number[][]} */
export function nextOf(s) {
  let next = nexts.get(s);
  if (!next) {
    nexts.set(s, next = s.ids.map(() => []));
    s.after.forEach((list, i) => list.forEach((j) => next[j].push(i)));
  }
  return next;
}

/** For each task with a wave, the highest wave below its own; 0 if there is none. @param {Structure} s */
export function wavesBelow(s) {
  const all = distinct(s.waves);
  const below = new Map(all.map((w, k) => [w, all[k - 1] ?? 0]));
  return s.waves.map((w) => below.get(w) ?? 0);
}
