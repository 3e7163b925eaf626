// The boxes of the graph's tasks, and the lines between them.
import { link } from '../core/route.js';
import { count, kind, many, sign, text } from '../core/words.js';
import { html, memo } from '../core/view.js';
import { box } from './layout-size.js';
import { line, named, stateOf, tryOf } from './task.js';

// Shortens text to a number of columns, because SVG text is not cut by itself. East Asian
// characters take two columns.
function cut(value, room) {
  let out = '';
  for (const c of line(value)) {
    room -= c > '\u2e80' ? 2 : 1;
    if (room < 0) return `${out}…`;
    out += c;
  }
  return out;
}

/** The description of a task for screen readers. */
const label = (t, state, layer) => [text(t.id), named(t) && text(t.name), state, `stage ${layer}`, t.tries > 1 && `attempt ${t.tries}`, Array.isArray(t.after) && t.after.length > 0 && `after ${t.after.map(text).join(', ')}`].filter(Boolean).join(', ');

/** @param {{t: any, x: number, y: number, layer: number, index: number, dim: boolean, lit: boolean, tab: boolean}} props */
export const Node = memo(({ t, x, y, layer, index, dim, lit, tab }) => {
  const state = stateOf(t);
  return html`<a class=${`node k-${kind(state)}${dim ? ' dim' : ''}${lit ? ' lit' : ''}`} data-node=${index} data-task=${text(t.id)} href=${t.href ?? link('runs', text(t.run), 'tasks', text(t.id))} tabindex=${tab ? 0 : -1}
    transform=${`translate(${x} ${y})`}>
    <title>${label(t, state, layer)}</title>
    <rect class="body" width=${box.width} height=${box.height} rx="8" />
    <path class="stripe" d=${`M8 0.5H5A4.5 4.5 0 0 0 0.5 5V${box.height - 5}A4.5 4.5 0 0 0 5 ${box.height - 0.5}H8Z`} />
    <text class="id" x="18" y="21">${cut(t.id, t.tries > 1 ? 19 : 25)}</text>
    ${t.tries > 1 && html`<text class="tries" x=${box.width - 10} y="21" text-anchor="end">↻ ${tryOf(t)}</text>`}
    <text class="word" x="18" y="39" clip-path="url(#inside)"><tspan class="state">${sign(state)} ${cut(state, 12)}</tspan><tspan class="name" dx="6">${named(t) ? cut(t.name, 23 - Math.min(12, state.length)) : ''}</tspan></text>
    <text class="far-sign" x=${box.width / 2} y=${box.height / 2 + 13} text-anchor="middle">${sign(state)}</text>
  </a>`;
});

// The state that colours a box with several tasks: the first of these that one of them has.
const worstFirst = ['failed', 'waiting', 'running', 'cancelled', 'queued', 'complete'];

/**
 * A box with several tasks: how many there are, and a bar of their states.
 * @param {{title: string, total: number, found: number, states: string, x: number, y: number, layer: number, index: number, dim: boolean, lit: boolean, tab: boolean}} props
 * found is how many of the tasks the filter finds; states are pairs of a state and a number
 */
export const FoldNode = memo(({ title, total, found, states, x, y, layer, index, dim, lit, tab }) => {
  const words = states.split(' ');
  const parts = [];
  for (let i = 0; i + 1 < words.length; i += 2) parts.push({ state: words[i], n: Number(words[i + 1]) });
  const worst = worstFirst.find((s) => parts.some((p) => p.state === s)) ?? 'queued';
  const said = `${title}, ${many(total, 'task')}: ${parts.map((p) => `${count(p.n)} ${p.state}`).join(', ')}, stage ${layer}, folded`;
  let at = 18;
  const room = box.width - 30;
  return html`<g class=${`node fold k-${kind(worst)}${dim ? ' dim' : ''}${lit ? ' lit' : ''}`} role="button" aria-expanded="false" data-node=${index} data-fold tabindex=${tab ? 0 : -1} transform=${`translate(${x} ${y})`}>
    <title>${said}</title>
    <rect class="under" x="5" y="5" width=${box.width} height=${box.height} rx="8" />
    <rect class="body" width=${box.width} height=${box.height} rx="8" />
    <text class="id" x="18" y="19">${cut(title, 26)}</text>
    <g class="bar">${parts.map((p) => {
    const width = room * p.n / total;
    at += width;
    return html`<rect key=${p.state} class=${`f-${p.state}`} x=${at - width} y="25" width=${Math.max(1.5, width - 1)} height="5" />`;
  })}</g>
    <text class="word" x="18" y="43" clip-path="url(#inside)">${found < total && html`<tspan class="state">${count(found)} of </tspan>`}<tspan class="name">${count(total)}</tspan>${parts.map((p) => html`<tspan key=${p.state} class=${`state s-${p.state}`} dx="7">${sign(p.state)} ${count(p.n)}</tspan>`)}</text>
    <text class="far-sign" x=${box.width / 2} y=${box.height / 2 + 13} text-anchor="middle">${count(total)}</text>
  </g>`;
});

/** @param {{edges: any[], path: Set<number>|null}} props */
export const Edges = memo(({ edges, path }) => html`<g class=${`edges ${path ? 'some' : ''}`} aria-hidden="true">${edges.map((e) => html`<path key=${`${e.from}-${e.to}`} d=${e.d} class=${path?.has(e.from) && path.has(e.to) ? 'lit' : ''} marker-end="url(#arrow)" />`)}</g>`);

/** The background columns of the graph, one per stage. @param {{picture: any, counts?: Map<number, number>|null}} props counts has the tasks of each stage, if boxes are folded */
export const Bands = memo(({ picture, counts }) => html`<g class="bands" aria-hidden="true">${picture.bands.map((b, k) => html`<g key=${b.layer} transform=${`translate(${b.x} 0)`}>
  <rect width=${b.width} height=${picture.height} rx="10" /><text x="14" y="22">Stage ${b.layer}<tspan class="count" dx="7">${counts?.get(b.layer) ?? b.count}</tspan></text>
  ${!picture.edges.length && k > 0 && html`<path class="then" d=${`M-33 ${picture.height / 2}h22m-7 -6l7 6l-7 6`} />`}</g>`)}</g>`);
