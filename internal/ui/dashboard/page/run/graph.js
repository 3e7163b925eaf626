// The dependency graph of a run's tasks, from left to right.
import { route, link } from '../core/route.js';
import { count, many } from '../core/words.js';
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../core/view.js';
import { Empty } from '../parts/status.js';
import { Camera, steer } from './camera.js';
import { box } from './layout-size.js';
import { Bands, Edges, Node } from './node.js';
import { pathOf } from './structure.js';
import { Zoom } from './zoom.js';

const most = 1000; // a graph with more tasks is not drawn
const patience = 30_000;

/** @param {{structure: import('./structure.js').Structure, shown: number[], row: (id: string) => any}} props */
export function Graph({ structure, shown, row }) {
  const { picture, of, error } = usePicture(structure);
  if (structure.ids.length > most) return html`<${Instead} title=${`${count(structure.ids.length)} tasks are too many for a graph.`} />`;
  if (error) return html`<${Instead} title=${error} />`;
  if (!picture) return html`<div class="graph busy" aria-busy="true"><p class="starting">Laying out ${many(structure.ids.length, 'task')}… <a href=${listHref()}>Show them as a list</a></p></div>`;
  return html`<${Drawing} picture=${picture} structure=${of} row=${row} shown=${shown.length < structure.ids.length ? shown : null} />`;
}

const Instead = ({ title }) => html`<${Empty} title=${title}><p><a href=${listHref()}>Show them as a list</a></p><//>`;

// The same address with the list instead of the graph.
function listHref() {
  const q = new URLSearchParams(route.value.query);
  q.delete('view');
  return link(...route.value.path) + (q.size ? `?${q}` : '');
}

// Computes the layout again only when tasks or dependencies have changed. The previous
// layout is shown until the new one is ready.
function usePicture(structure) {
  const [state, set] = useState({ picture: null, of: null, error: '' });
  useEffect(() => {
    if (structure.ids.length > most) return undefined;
    const worker = new Worker('/assets/run/layout-worker.js', { type: 'module' });
    const fail = () => { worker.terminate(); set((s) => (s.picture ? s : { ...s, error: 'This graph could not be laid out in time.' })); };
    const timer = setTimeout(fail, patience);
    worker.onmessage = ({ data }) => {
      clearTimeout(timer);
      worker.terminate();
      if (data.error) fail();
      else set({ picture: data.picture, of: structure, error: '' });
    };
    worker.onerror = fail;
    worker.postMessage({ number: 0, shape: { layers: structure.layers, edges: structure.after.flatMap((list, i) => list.map((j) => [j, i])) } });
    return () => { clearTimeout(timer); worker.terminate(); };
  }, [structure]);
  return state;
}

function Drawing({ picture, structure, row, shown }) {
  const svg = useRef(null);
  const scene = useRef(null);
  const camera = useCamera(svg, scene, picture, structure);
  const [chosen, setAt] = useState(-1);
  const [over, setOver] = useState(-1);
  const has = (i) => i >= 0 && i < structure.ids.length; // the index may come from an earlier graph with more tasks
  const at = has(chosen) ? chosen : structure.order[0];
  const path = useMemo(() => (has(over) && picture.edges.length ? pathOf(structure, over) : null), [over, structure]);
  const fits = useMemo(() => shown && new Set(shown), [shown?.join()]);

  const focus = (i) => {
    setAt(i);
    camera.current.show(picture.nodes[i], box);
    svg.current.querySelector(`[data-node="${i}"]`)?.focus({ preventScroll: true });
  };
  const nodeOf = (e) => Number(e.target.closest?.('[data-node]')?.dataset.node ?? -1);
  const key = (e) => {
    const act = keys[e.key];
    const here = nodeOf(e) < 0 ? at : nodeOf(e);
    if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    act({ camera: camera.current, to: (dx, dy) => focus(nearest(picture, here, dx, dy)), first: () => focus(structure.order[0]), last: () => focus(structure.order.at(-1)) });
  };

  return html`<div class="graph" style=${{ '--tall': `${Math.max(240, Math.min(5000, picture.height) + 60)}px` }} onKeyDown=${key}>
    <svg ref=${svg} role="group" aria-label=${`Graph of ${many(structure.ids.length, 'task')}. Arrow keys move from task to task, Enter opens one, plus and minus zoom.`}
      onPointerOver=${(e) => setOver(nodeOf(e))} onPointerLeave=${() => setOver(-1)}
      onFocusIn=${(e) => { const i = nodeOf(e); if (i >= 0) { setAt(i); camera.current.show(picture.nodes[i], box); } }}>
      <${Shapes} />
      <g ref=${scene}>
        <${Bands} picture=${picture} />
        <${Edges} edges=${picture.edges} path=${path} />
        ${structure.order.map((i) => {
    const t = row(structure.ids[i]);
    return t && html`<${Node} key=${structure.ids[i]} t=${t} x=${picture.nodes[i].x} y=${picture.nodes[i].y} layer=${structure.layers[i]} index=${i}
      dim=${path ? !path.has(i) : !!fits && !fits.has(i)} lit=${!!path?.has(i)} tab=${i === at} />`;
  })}
      </g>
    </svg>
    <${Zoom} closer=${() => camera.current.zoom(1.3)} farther=${() => camera.current.zoom(1 / 1.3)} fit=${() => camera.current.fit()} />
  </div>`;
}

const Shapes = () => html`<defs>
  <marker id="arrow" viewBox="0 0 8 8" refX="3" refY="4" markerWidth="7" markerHeight="7" orient="auto" markerUnits="userSpaceOnUse"><path d="M0 0.5L7 4L0 7.5Z" /></marker>
  <clipPath id="inside"><rect width=${box.width - 6} height=${box.height} /></clipPath></defs>`;

// Keeps the user's position and zoom when the graph grows.
function useCamera(svg, scene, picture, structure) {
  const camera = useRef(null);
  useLayoutEffect(() => {
    camera.current = new Camera(svg.current, scene.current);
    return steer(camera.current);
  }, []);
  useLayoutEffect(() => {
    const c = camera.current;
    const before = c.size.width;
    c.size = { width: picture.width, height: picture.height };
    if (before === 1) c.begin(picture.nodes[structure.order[0]].y);
  }, [picture]);
  return camera;
}

const keys = {
  ArrowRight: ({ to }) => to(1, 0), ArrowLeft: ({ to }) => to(-1, 0), ArrowDown: ({ to }) => to(0, 1), ArrowUp: ({ to }) => to(0, -1),
  Home: ({ first }) => first(), End: ({ last }) => last(),
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
