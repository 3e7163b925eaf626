// The dependency graph of a run's tasks, from left to right. A large graph is folded.
import { useCommands } from '../core/commands.js';
import { route, link, query, setQuery } from '../core/route.js';
import { count, many } from '../core/words.js';
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../core/view.js';
import { Empty } from '../parts/status.js';
import { Camera, steer } from './camera.js';
import { foldAbove, foldedOf, foldsOf, mostBoxes } from './groups.js';
import { box } from './layout-size.js';
import { Bands, Edges, FoldNode, Node } from './node.js';
import { pathOf } from './structure.js';
import { stateOf, states } from './task.js';
import { Zoom } from './zoom.js';

const mostApart = 40; // tasks that a filter takes out of their folds
const patience = 120_000;
const noticeAfter = 1000; // milliseconds until the page says that a layout is being computed

/**
 * @param {{structure: import('./structure.js').Structure, shown: number[], row: (id: string) => any, refit?: boolean}} props
 * refit: show the whole graph again after each change of its tasks, instead of what the user has moved to
 */
export function Graph({ structure, shown, row, refit }) {
  const some = shown.length < structure.ids.length ? shown : null;
  const folding = useFolding(structure, some);
  const { picture, of, late, error } = usePicture(folding.structure);
  if (error && !picture) return html`<${Instead} title=${error} />`;
  const notice = error ? `${error} The previous one is shown.` : late && 'Laying out the graph…';
  return html`${folding.folds && html`<${Folds} folding=${folding} total=${structure.ids.length} />`}
    ${picture && notice && html`<p class="folds faint" role="status">${notice}</p>`}
    ${!picture ? html`<div class="graph busy" aria-busy="true"><p class="starting">Laying out ${many(structure.ids.length, 'task')}… <a href=${listHref()}>Show them as a list</a></p></div>`
    : html`<${Drawing} picture=${picture} structure=${of} row=${row} ids=${structure.ids} shown=${some} folding=${folding} refit=${refit} />`}`;
}

/**
 * Which boxes are open, kept in the address. A filter that finds few tasks takes them out
 * of their folds.
 * @param {import('./structure.js').Structure} whole @param {number[]|null} some the tasks that the filter finds
 */
function useFolding(whole, some) {
  const folds = useMemo(() => (whole.ids.length > foldAbove ? foldsOf(whole) : null), [whole]);
  const text = query('open');
  const open = useMemo(() => {
    if (!folds) return new Set();
    const wanted = new Set(text.split(',').filter(Boolean).map(decode));
    let boxes = 0;
    return new Set(folds.filter((f) => (text === 'all' || wanted.has(f.key)) && f.members.length > 1 && (boxes += f.members.length) <= mostBoxes).map((f) => f.key));
  }, [folds, text]);
  const apart = some && some.length <= mostApart ? some.join() : '';
  const structure = useMemo(() => (folds ? foldedOf(whole, folds, open, new Set(apart ? apart.split(',').map(Number) : [])) : whole), [whole, folds, open, apart]);
  const set = (keys) => setQuery({ open: [...keys].map(encodeURIComponent).join(',') });
  return {
    folds, open, structure, all: whole.ids.length <= mostBoxes,
    toggle: (key) => { const next = new Set(open); if (!next.delete(key)) next.add(key); set(next); },
    openAll: () => setQuery({ open: 'all' }), foldAll: () => set([]),
    keyOf: (task) => folds?.find((f) => f.members.includes(task))?.key,
  };
}

function decode(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

/** What is folded, and what is open. */
function Folds({ folding, total }) {
  const { folds, open, all, toggle, openAll, foldAll } = folding;
  const opened = folds.filter((f) => open.has(f.key));
  useCommands(() => [open.size > 0 && { id: 'graph-fold', title: 'Fold the graph', run: foldAll }, all && { id: 'graph-open', title: 'Show every task of the graph', run: openAll }].filter(Boolean));
  return html`<div class="folds"><span class="faint">${many(total, 'task')} in ${count(folds.length)} boxes: a click or Enter opens a box; a filter shows the tasks that it finds.</span>
    ${opened.slice(0, 6).map((f) => html`<button key=${f.key} class="counter" onClick=${() => toggle(f.key)} aria-label=${`Fold ${f.title} of stage ${f.layer}`} title="Fold"><span class="faint">Stage ${f.layer}</span> ${f.title} <span aria-hidden="true">✕</span></button>`)}
    ${opened.length > 6 && html`<span class="faint">and ${count(opened.length - 6)} more</span>`}
    ${opened.length > 0 && html`<button class="quiet" onClick=${foldAll}>Fold all</button>`}
    ${all && opened.length < folds.filter((f) => f.members.length > 1).length && html`<button class="quiet" onClick=${openAll}>Show every task</button>`}</div>`;
}

const Instead = ({ title }) => html`<${Empty} title=${title}><p><a href=${listHref()}>Show them as a list</a></p><//>`;

// The same address with the list instead of the graph.
function listHref() {
  const q = new URLSearchParams(route.value.query);
  q.delete('view');
  return link(...route.value.path) + (q.size ? `?${q}` : '');
}

// Computes the layout again only when tasks or dependencies have changed. The previous
// layout is shown until the new one is ready, or if there is an error; late says that the new
// one takes long.
function usePicture(structure) {
  const [state, set] = useState({ picture: null, of: null, late: false, error: '' });
  useEffect(() => {
    const worker = new Worker('/assets/run/layout-worker.js', { type: 'module' });
    const end = () => { clearTimeout(notice); clearTimeout(timer); worker.terminate(); };
    const fail = () => { end(); set((s) => ({ ...s, late: false, error: 'This graph could not be laid out in time.' })); };
    const notice = setTimeout(() => set((s) => ({ ...s, late: true, error: '' })), noticeAfter);
    const timer = setTimeout(fail, patience);
    worker.onmessage = ({ data }) => {
      end();
      if (data.error) fail();
      else set({ picture: data.picture, of: structure, late: false, error: '' });
    };
    worker.onerror = fail;
    worker.postMessage({ number: 0, shape: { layers: structure.layers, compact: Boolean(structure.folds?.some(Boolean)), edges: structure.after.flatMap((list, i) => list.map((j) => [j, i])) } });
    return end;
  }, [structure]);
  return state;
}

/** The number of a fold's tasks by state, in the order of states. */
function countStates(fold, ids, row) {
  const n = {};
  for (const i of fold.members) {
    const t = row(ids[i]);
    if (t) { const s = stateOf(t); n[s] = (n[s] ?? 0) + 1; }
  }
  return states.filter((s) => n[s]).map((s) => `${s} ${n[s]}`).join(' ');
}

function Drawing({ picture, structure, row, ids, shown, folding, refit }) {
  const svg = useRef(null);
  const scene = useRef(null);
  const camera = useCamera(svg, scene, picture, structure, refit);
  const [chosen, setAt] = useState(-1);
  const [over, setOver] = useState(-1);
  const has = (i) => i >= 0 && i < structure.ids.length; // the index may come from an earlier graph with more tasks
  const at = has(chosen) ? chosen : structure.order[0];
  const path = useMemo(() => (has(over) && picture.edges.length ? pathOf(structure, over) : null), [over, structure]);
  const fits = useMemo(() => shown && new Set(shown), [shown?.join()]);
  const foldOf = (i) => structure.folds?.[i];
  const taskOf = (i) => structure.tasks?.[i] ?? i;

  const focus = (i) => {
    setAt(i);
    camera.current.show(picture.nodes[i], box);
    svg.current.querySelector(`[data-node="${i}"]`)?.focus({ preventScroll: true });
  };
  // After a box was opened or folded, its first task or its box is focused; after a filter, the first task found.
  const next = useRef(-1);
  useLayoutEffect(() => {
    const task = next.current;
    next.current = -1;
    const i = task < 0 ? -1 : structure.ids.findIndex((_, k) => (foldOf(k) ? foldOf(k).members.includes(task) : taskOf(k) === task));
    if (i >= 0) focus(i);
  }, [structure]);
  useLayoutEffect(() => {
    const i = structure.folds && shown?.length && shown.length <= mostApart ? structure.ids.findIndex((_, k) => !foldOf(k) && taskOf(k) === shown[0]) : -1;
    if (i >= 0) { setAt(i); camera.current.centre(picture.nodes[i], box); }
  }, [structure, fits]);
  const toggle = (i) => {
    const key = foldOf(i)?.key ?? folding.keyOf(taskOf(i));
    if (!key) return;
    next.current = taskOf(i);
    folding.toggle(key);
  };
  const nodeOf = (e) => Number(e.target.closest?.('[data-node]')?.dataset.node ?? -1);
  const key = (e) => {
    const act = keys[e.key];
    const here = nodeOf(e) < 0 ? at : nodeOf(e);
    if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
    if ((e.key === 'Enter' || e.key === ' ') && !foldOf(here)) return; // a task is a link
    e.preventDefault();
    act({ camera: camera.current, to: (dx, dy) => focus(nearest(picture, here, dx, dy)), first: () => focus(structure.order[0]), last: () => focus(structure.order.at(-1)), toggle: () => toggle(here) });
  };

  return html`<div class="graph" style=${{ '--tall': `${Math.max(240, Math.min(5000, picture.height) + 60)}px` }} onKeyDown=${key}>
    <svg ref=${svg} role="group" aria-label=${`Graph of ${many(ids.length, 'task')}. Arrow keys move from box to box, Enter opens one, ${structure.folds ? 'f folds its group, ' : ''}plus and minus zoom.`}
      onPointerOver=${(e) => setOver(nodeOf(e))} onPointerLeave=${() => setOver(-1)} onClick=${(e) => { const i = nodeOf(e); if (foldOf(i)) toggle(i); }}
      onFocusIn=${(e) => { const i = nodeOf(e); if (i >= 0) { setAt(i); camera.current.show(picture.nodes[i], box); } }}>
      <${Shapes} />
      <g ref=${scene}>
        <${Bands} picture=${picture} counts=${structure.folds && stageCounts(structure)} />
        <${Edges} edges=${picture.edges} path=${path} />
        ${structure.order.map((i) => {
    const place = { x: picture.nodes[i].x, y: picture.nodes[i].y, layer: structure.layers[i], index: i, lit: !!path?.has(i), tab: i === at };
    const fold = foldOf(i);
    if (fold) {
      const found = fits ? fold.members.filter((m) => fits.has(m)).length : fold.members.length;
      return html`<${FoldNode} key=${structure.ids[i]} ...${place} title=${fold.title} total=${fold.members.length} found=${found} states=${countStates(fold, ids, row)} dim=${path ? !path.has(i) : found === 0} />`;
    }
    const t = row(ids[taskOf(i)]);
    return t && html`<${Node} key=${structure.ids[i]} t=${t} ...${place} dim=${path ? !path.has(i) : !!fits && !fits.has(taskOf(i))} />`;
  })}
      </g>
    </svg>
    <${Zoom} closer=${() => camera.current.zoom(1.3)} farther=${() => camera.current.zoom(1 / 1.3)} fit=${() => camera.current.fit()} />
  </div>`;
}

const stages = new WeakMap();

/** The number of tasks in each stage of a folded graph. */
function stageCounts(s) {
  if (!stages.has(s)) {
    const n = new Map();
    s.layers.forEach((l, i) => n.set(l, (n.get(l) ?? 0) + (s.folds[i]?.members.length ?? 1)));
    stages.set(s, n);
  }
  return stages.get(s);
}

const Shapes = () => html`<defs>
  <marker id="arrow" viewBox="0 0 8 8" refX="3" refY="4" markerWidth="7" markerHeight="7" orient="auto" markerUnits="userSpaceOnUse"><path d="M0 0.5L7 4L0 7.5Z" /></marker>
  <clipPath id="inside"><rect width=${box.width - 6} height=${box.height} /></clipPath></defs>`;

// Keeps the user's position and zoom when the graph grows.
function useCamera(svg, scene, picture, structure, refit) {
  const camera = useRef(null);
  useLayoutEffect(() => {
    camera.current = new Camera(svg.current, scene.current);
    return steer(camera.current);
  }, []);
  useLayoutEffect(() => {
    const c = camera.current;
    const before = c.size.width;
    c.size = { width: picture.width, height: picture.height };
    if (before === 1 || refit) c.begin(picture.nodes[structure.order[0]].y);
  }, [picture]);
  return camera;
}

const keys = {
  ArrowRight: ({ to }) => to(1, 0), ArrowLeft: ({ to }) => to(-1, 0), ArrowDown: ({ to }) => to(0, 1), ArrowUp: ({ to }) => to(0, -1),
  Home: ({ first }) => first(), End: ({ last }) => last(), Enter: ({ toggle }) => toggle(), ' ': ({ toggle }) => toggle(), f: ({ toggle }) => toggle(),
  '+': ({ camera }) => camera.zoom(1.3), '=': ({ camera }) => camera.zoom(1.3), '-': ({ camera }) => camera.zoom(1 / 1.3), 0: ({ camera }) => camera.fit(),
};

/** The nearest box in a direction, or the box itself if there is none. */
function nearest({ nodes }, at, dx, dy) {
  const { x, y } = nodes[at];
  let best = at;
  let least = Infinity;
  nodes.forEach((n, i) => {
    const along = dx * (n.x - x) + dy * (n.y - y);
    const across = Math.abs(dx * (n.y - y)) + Math.abs(dy * (n.x - x));
    const far = along + 3 * across;
    if (along > 1 && far < least) { least = far; best = i; }
  });
  return best;
}
