// One file of the diff: its head and its visible rows.
import { html } from '../core/view.js';
import { bytes, count, many } from '../core/words.js';
import { quietly } from '../parts/dialog.js';
import { Comment, Form, Tall } from './comment.js';
import { Both, Line } from './line.js';
import { visible } from './visible.js';

const words = { added: 'new', deleted: 'deleted', renamed: 'renamed', copied: 'copied', type: 'type changed' };

/** @param {{file: any}} props the name of a file, with its old name */
export const Path = ({ file }) => html`<span class="path" title=${file.path}><bdi dir="ltr">${file.from && file.from !== file.path && html`<bdi class="faint">${visible(file.from)}</bdi> <span aria-label="is now">→</span> `}<bdi>${visible(file.path)}</bdi></bdi></span>`;

/** @param {{added: number, removed: number}} props */
export const Counts = ({ added, removed }) => html`<span class="sums"><span class="plus">+${count(added)}</span> <span class="minus">−${count(removed)}</span></span>`;

/**
 * @param {{index: number, source: import('./source.js').Source, desk: import('./pagestate.js').Desk, block: any, first: number, last: number, may: boolean, cursor: any, marked: any, tell: (block: any, key: string, height: number) => void}} props
 */
export function FileView({ index, source, desk, block, first, last, may, cursor, marked, tell }) {
  const { file } = block;
  const f = file.file;
  const viewed = source.viewed(f);
  const shown = source.isShown(file);
  const toggle = () => { file.shown = !shown; file.touch(); source.fetch(); };
  const view = () => quietly(() => source.view(file, viewed !== 'yes'));
  const top = block.tops[first] ?? 0;
  const here = cursor?.path === f.path;
  return html`<section class="file" aria-label=${f.path} style=${{ top: `${block.top}px`, height: `${block.height - 14}px` }} data-path=${f.path}>
    <header class=${`filehead${here && !cursor.key ? ' at' : ''}`}>
      <button class="quiet fold" aria-expanded=${shown} aria-label=${`${shown ? 'Hide' : 'Show'} ${f.path}`} onClick=${toggle}>${shown ? '▾' : '▸'}</button>
      <${Path} file=${f} />
      ${words[f.status] && html`<span class=${`badge s-${f.status}`}>${words[f.status]}</span>`}
      ${f.old_mode && f.new_mode && f.old_mode !== f.new_mode && html`<span class="badge" title="File mode">${f.old_mode} → ${f.new_mode}</span>`}
      ${f.binary ? html`<span class="badge">binary</span>` : html`<${Counts} added=${f.added} removed=${f.removed} />`}
      <span class="space"></span>
      ${viewed === 'changed' && html`<span class="badge outdated" title="Changed since you viewed it"><span class="text">changed since viewed</span></span>`}
      <button class="quiet" disabled=${!may} onClick=${() => desk.view.comment(f.path)} aria-label=${`Comment on ${f.path}`}>Comment</button>
      <label class="viewed"><input type="checkbox" checked=${viewed === 'yes'} disabled=${!may} onChange=${view} /> Viewed</label>
    </header>
    ${shown && html`<div class="filebody" style=${{ height: `${block.tops.at(-1)}px` }}><div class="rowsin" data-block=${index} data-first=${first} style=${{ transform: `translateY(${top}px)` }}>
      ${block.rows.slice(first, last).map((r) => html`<${Row} key=${r.key} r=${r} source=${source} desk=${desk} file=${file} may=${may} runs=${file.runs}
        at=${here && cursor.key === r.key} side=${here ? cursor.side : ''} marked=${markOf(r, marked, f.path)} tell=${(h) => tell(block, r.key, h)} />`)}
    </div></div>`}
  </section>`;
}

// markOf returns the side of a row that is marked, or nothing.
function markOf(r, marked, path) {
  if (marked?.path !== path || !marked.first) return '';
  const line = r.kind === 'line' ? r : r.kind === 'pair' ? (marked.side === 'old' ? r.left : r.right) : null;
  const n = line?.[marked.side] ?? 0;
  return n >= marked.first && n <= marked.last ? marked.side : '';
}

function Row({ r, source, desk, file, may, runs, at, side, marked, tell }) {
  if (r.kind === 'line') return html`<${Line} line=${r} runs=${runs} at=${at} marked=${marked} />`;
  if (r.kind === 'pair') return html`<${Both} pair=${r} runs=${runs} at=${at} side=${at ? side : ''} marked=${marked} />`;
  if (r.kind === 'gap') return html`<${Gap} r=${r} source=${source} file=${file} />`;
  if (r.kind === 'wait') return html`<div class="waiting" data-key=${r.key} style=${{ height: `${r.lines * 20}px` }}><span class="faint">Loading ${file.path}…</span></div>`;
  return html`<${Tall} name=${r.key} tell=${tell}>${r.kind === 'comment' ? html`<${Comment} source=${source} comment=${r.comment} anchor=${r.anchor} may=${may} />`
    : r.kind === 'form' ? html`<${Form} key=${desk.name(r.form)} desk=${desk} source=${source} place=${r.form} />` : html`<${Note} what=${r.what} source=${source} file=${file} />`}<//>`;
}

function Gap({ r, source, file }) {
  const open = (where) => quietly(() => source.expand(file, r.index, where));
  const few = r.count >= 0 && r.count <= 40;
  return html`<div class="gap" data-key=${r.key}>
    ${few ? html`<button class="quiet" onClick=${() => open('all')}>Show ${many(r.count, 'line')}</button>` : html`
      ${r.edge !== 'first' && html`<button class="quiet" aria-label="Show 20 lines below" onClick=${() => open('top')}>↓ 20 lines</button>`}
      ${r.edge !== 'last' && html`<button class="quiet" aria-label="Show 20 lines above" onClick=${() => open('bottom')}>↑ 20 lines</button>`}
      <button class="quiet" onClick=${() => open('all')}>${r.count < 0 ? 'Show the rest' : `Show ${many(r.count, 'line')}`}</button>`}
    ${r.section && html`<code class="faint">${r.section}</code>`}</div>`;
}

// sizes says how large a file was before and is after the change.
function sizes({ status, old_size: before = 0, new_size: after = 0 }) {
  if (status === 'added') return bytes(after);
  return status === 'deleted' ? `${bytes(before)} before` : `${bytes(before)} before, ${bytes(after)} after`;
}

function Note({ what, source, file }) {
  const { file: f } = file;
  const again = () => { file.accepted = true; file.state = 'unread'; file.touch(); source.read(file); };
  switch (what) {
    case 'binary': return html`<p class="note">A binary file: ${sizes(f)}. Its contents are not shown.</p>`;
    case 'large': return html`<p class="note">${file.diff.too_large} <span class="faint">Its contents are not shown.</span></p>`;
    case 'many': return html`<p class="note">${count(f.added + f.removed)} changed lines. <button onClick=${again}>Show them</button></p>`;
    case 'failed': return html`<p class="note bad" role="alert">The diff of this file could not be loaded: ${file.error} <button onClick=${again}>Try again</button></p>`;
    default: return html`<p class="note faint">${f.status === 'renamed' ? 'Renamed without other changes.' : f.status === 'copied' ? 'Copied without other changes.' : f.status === 'added' ? 'An empty file.' : f.status === 'deleted' ? 'An empty file was deleted.' : 'No line is different.'}</p>`;
  }
}
