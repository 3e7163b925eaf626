// Folds a large graph: the tasks of one stage whose ids begin alike become one box. A box
// is opened by the user; then its tasks are boxes of their own.

/** A graph with more tasks is folded at first. */
export const foldAbove = 150;
/** At most so many tasks are drawn as boxes of their own. */
export const mostBoxes = 1000;

const mostGroups = 8; // of one stage; smaller groups beyond that become one
const boxesOfAll = 60; // a box has about so many of all tasks at most…
const fewest = 40; // …but never less than this

/**
 * @typedef {object} Fold
 * @property {string} key stable while tasks are added to the end of the plan
 * @property {string} title
 * @property {number} layer
 * @property {number[]} members indexes of tasks in the structure
 */

/** The beginning of a task's id, up to its first separator or digit. @param {string} id */
const prefixOf = (id) => /^[^-_./:\d]+/.exec(id)?.[0] ?? '';

/**
 * The boxes of a structure: folds, in the order of the stages. A fold with one member is a task.
 * @param {import('./structure.js').Structure} s
 * @returns {Fold[]}
 */
export function foldsOf(s) {
  const stages = new Map();
  for (const i of s.order) {
    const groups = stages.get(s.layers[i]) ?? stages.set(s.layers[i], new Map()).get(s.layers[i]);
    const name = prefixOf(s.ids[i]);
    const members = groups.get(name) ?? groups.set(name, []).get(name);
    members.push(i);
  }
  const size = Math.max(fewest, Math.ceil(s.ids.length / boxesOfAll));
  return [...stages].flatMap(([layer, groups]) => few([...groups]).flatMap(([name, members]) => parts(s, layer, name, members, size)));
}

// few joins the smallest groups of a stage if there are too many.
function few(groups) {
  if (groups.length <= mostGroups) return groups;
  const kept = new Set([...groups].sort((a, b) => b[1].length - a[1].length).slice(0, mostGroups - 1).map(([name]) => name));
  const rest = groups.filter(([name]) => !kept.has(name)).flatMap(([, members]) => members).sort((a, b) => a - b);
  return [...groups.filter(([name]) => kept.has(name)), ['', rest]];
}

// parts divides a group into folds of at most size tasks.
function parts(s, layer, name, members, size) {
  const key = `${layer}:${name}`;
  if (members.length <= size) return [{ key, layer, title: members.length === 1 ? s.ids[members[0]] : name ? `${name}…` : between(s, members), members }];
  const list = [];
  for (let from = 0; from < members.length; from += size) {
    const some = members.slice(from, from + size);
    list.push({ key: `${key}:${from}`, layer, title: between(s, some), members: some });
  }
  return list;
}

const between = (s, members) => `${s.ids[members[0]]} … ${s.ids[members.at(-1)]}`;

/**
 * A structure whose nodes are the folds that are closed, and the tasks of those that are open.
 * @param {import('./structure.js').Structure} s
 * @param {Fold[]} folds
 * @param {Set<string>} open the keys of the open folds
 * @param {Set<number>} apart tasks that are boxes of their own although their fold is closed
 * @returns {import('./structure.js').Structure & {folds: (Fold|null)[], tasks: number[]}} folds has null for a task; tasks has the index of each task, or of a fold's first task
 */
export function foldedOf(s, folds, open, apart) {
  const nodes = [];
  const nodeOf = new Array(s.ids.length);
  const add = (fold, members) => {
    for (const i of members) nodeOf[i] = nodes.length;
    nodes.push({ fold, first: members[0], layer: s.layers[members[0]] });
  };
  for (const fold of folds) {
    const inside = open.has(fold.key) ? [] : fold.members.filter((i) => !apart.has(i));
    for (const i of fold.members) if (open.has(fold.key) || apart.has(i)) add(null, [i]);
    if (inside.length === 1) add(null, inside);
    else if (inside.length) add({ ...fold, members: inside }, inside);
  }
  const after = nodes.map(() => new Set());
  s.after.forEach((list, i) => { for (const j of list) if (nodeOf[j] !== nodeOf[i]) after[nodeOf[i]].add(nodeOf[j]); });
  const ids = nodes.map((n) => (n.fold ? `fold ${n.fold.key}` : s.ids[n.first]));
  const order = nodes.map((_, k) => k).sort((a, b) => nodes[a].layer - nodes[b].layer || nodes[a].first - nodes[b].first);
  return {
    ids, at: new Map(ids.map((id, k) => [id, k])), waves: nodes.map((n) => s.waves[n.first]), after: after.map((set) => [...set]),
    layers: nodes.map((n) => n.layer), depth: s.depth, order, folds: nodes.map((n) => n.fold), tasks: nodes.map((n) => n.first),
  };
}
