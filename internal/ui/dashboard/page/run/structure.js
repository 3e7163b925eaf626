// The dependencies between a run's tasks. A task waits for the tasks in its 'after'. A
// task with a wave also waits for all tasks of lower waves.

/**
 * @typedef {object} Structure
 * @property {string[]} ids in the order of the plan
 * @property {Map<string, number>} at the index of each id in ids
 * @property {number[]} waves the wave of each task; 0 for tasks without one
 * @property {number[][]} after the dependencies of each task, as indexes in ids
 * @property {number[]} layers the layer of each task, from 1: one more than its dependencies' highest layer
 * @property {number} depth the number of layers
 * @property {number[]} order the indexes sorted by layer, then as in the plan
 */

const wave = (t) => (Number.isInteger(t.wave) && t.wave > 0 ? t.wave : 0);
const names = (t) => (Array.isArray(t.after) ? t.after : []);

/**
 * The structure of a run's tasks. If nothing has changed it returns the object before, so
 * that components are not drawn again.
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

/** The different waves of a plan, sorted. @param {number[]} waves */
const distinct = (waves) => [...new Set(waves)].filter((w) => w > 0).sort((a, b) => a - b);

// Inserts a gate node between waves that waits for all tasks of the lower wave. So n tasks
// that wait for m tasks need n + m edges, not n times m.
function layersOf(waves, after) {
  const n = waves.length;
  const gate = new Map(distinct(waves).map((w, k) => [w, n + k]));
  const gates = [...gate.values()];
  const needs = [...after.map((list, i) => (waves[i] ? [...list, gate.get(waves[i])] : list)), ...gates.map((g, k) => (k ? [g - 1] : []))];
  waves.forEach((w, i) => { if (w && gate.get(w) + 1 < n + gates.length) needs[gate.get(w) + 1].push(i); });
  return longest(needs, n).slice(0, n);
}

// longest returns the number of tasks on the longest path to each node. Gates, which have
// the indexes from first on, do not count. Tasks of a cycle come after all known layers.
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

/** The indexes of all tasks before and after a task, directly or indirectly, and its own. Waves do not count. @param {Structure} s @param {number} i */
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

/** The direct dependents of each task, as indexes. @param {Structure} s @returns {number[][]} */
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
