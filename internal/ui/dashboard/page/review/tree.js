// The files of the change as a tree. Only the visible rows are in the DOM.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../core/view.js';
import { Counts } from './file.js';
import { treeRows } from './order.js';
import { visible } from './visible.js';

const high = 26;

const signs = { added: 'A', deleted: 'D', renamed: 'R', copied: 'C', type: 'T', changed: 'M' };
const signWords = { added: 'new', deleted: 'deleted', renamed: 'renamed', copied: 'copied', type: 'type changed', changed: 'changed' };

/** @param {{source: import('./source.js').Source, desk: import('./pagestate.js').Desk, comments: Map<string, any[]>}} props */
export function Tree({ source, desk, comments }) {
  const ref = useRef(null);
  const [sight, setSight] = useState({ from: 0, to: 60 });
  const [closed, setClosed] = useState(() => new Set());
  const [filter, setFilter] = useState('');
  const files = source.files.value;
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = useMemo(() => treeRows(files.map((f) => f.file).filter((f) => words.every((w) => f.path.toLowerCase().includes(w))), closed), [files, closed, filter]);
  const look = () => {
    const el = ref.current;
    const from = Math.max(0, Math.floor(el.scrollTop / high) - 10);
    const to = from + Math.ceil(el.clientHeight / high) + 20;
    setSight((s) => (s.from === from && s.to === to ? s : { from, to }));
  };
  useLayoutEffect(() => {
    const seen = new ResizeObserver(look);
    seen.observe(ref.current);
    return () => seen.disconnect();
  }, []);
  const current = desk.current.value;
  useEffect(() => {
    const i = rows.findIndex((r) => r.key === current);
    const el = ref.current;
    if (i < 0 || el.matches(':hover')) return;
    if (i * high < el.scrollTop || (i + 1) * high > el.scrollTop + el.clientHeight) el.scrollTop = i * high - el.clientHeight / 3;
  }, [current]);
  const fold = (key) => setClosed((c) => { const next = new Set(c); if (!next.delete(key)) next.add(key); return next; });
  const done = files.filter((f) => source.viewed(f.file) === 'yes').length;
  return html`<div class="treebox">
    <p class="faint progressline">${done} of ${files.length} viewed</p>
    ${files.length > 8 && html`<input type="search" data-filter placeholder="Filter files  /" aria-label="Filter files" value=${filter} onInput=${(e) => setFilter(e.currentTarget.value)} />`}
    <div ref=${ref} class="tree" role="tree" aria-label="Files" onScroll=${look}><div style=${{ height: `${rows.length * high}px` }}>
      ${rows.slice(sight.from, sight.to).map((r, k) => html`<${TreeRow} key=${r.key} r=${r} top=${(sight.from + k) * high} here=${r.key === current} viewed=${r.file && source.viewed(r.file)} comments=${comments.get(r.key)?.length ?? 0} open=${() => (r.file ? desk.view?.show(r.key) : fold(r.key))} />`)}
    </div></div></div>`;
}

function TreeRow({ r, top, here, viewed, comments, open }) {
  const { file } = r;
  const title = file ? `${file.path}${file.from && file.from !== file.path ? `, was ${file.from}` : ''}` : r.key;
  return html`<div role="treeitem" aria-level=${r.depth + 1} aria-selected=${here} aria-expanded=${file ? undefined : !r.closed} class=${`treerow${here ? ' here' : ''}${viewed === 'yes' ? ' seen' : ''}`} style=${{ top: `${top}px`, paddingLeft: `${8 + r.depth * 12}px` }} title=${title}>
    <button class="name" onClick=${open}>${file ? html`<span class=${`letter s-${file.status}`} aria-label=${signWords[file.status] ?? file.status}>${signs[file.status] ?? '·'}</span>` : html`<span class="letter" aria-hidden="true">${r.closed ? '▸' : '▾'}</span>`}<bdi>${visible(r.name)}</bdi></button>
    ${comments > 0 && html`<span class="bubble" aria-label=${`${comments} comments`}>${comments}</span>`}
    ${viewed === 'changed' && html`<span class="again" title="Changed since you viewed it" aria-label="changed since viewed">●</span>`}
    ${viewed === 'yes' && html`<span class="again done" aria-label="viewed">✓</span>`}
    ${file && !file.binary && html`<${Counts} added=${file.added} removed=${file.removed} />`}${file?.binary && html`<span class="faint">binary</span>`}</div>`;
}
