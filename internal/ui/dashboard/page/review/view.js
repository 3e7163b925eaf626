// The view of the diff. Only the visible files and lines are in the DOM.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../core/view.js';
import { layout } from './pagestate.js';
import { FileView } from './file.js';
import { Sheet, head } from './layout.js';

const spare = 450; // extra pixels drawn above and below the window
const narrow = 800; // width in pixels below which two columns do not fit
const userScrolls = ['wheel', 'touchmove', 'pointerdown', 'keydown']; // events with which the user leaves the place that is being shown

/** @param {{source: import('./source.js').Source, desk: import('./pagestate.js').Desk, may: boolean}} props */
export function DiffView({ source, desk, may }) {
  const ref = useRef(null);
  const probe = useRef(null);
  const [, setDrawn] = useState(0);
  const draw = () => setDrawn((n) => n + 1);
  const sheet = useMemo(() => new Sheet(), [source]);
  const kept = useRef({ y: 0, height: innerHeight, sticky: 100, from: 0, to: 0, size: { width: 1000, ch: 7.5 }, then: null, target: null }).current;

  const split = layout.value === 'split' && kept.size.width >= narrow;
  const gutter = split ? 8 : innerWidth <= 900 ? 10.4 : 13.5; // width in characters, as in the style sheet
  const text = (split ? (kept.size.width - 3) / 2 : kept.size.width - 2) - gutter * kept.size.ch - 12;
  const edge = kept.y + kept.sticky + 2; // the row at this position is kept in place; 2 pixels because browsers round scroll positions
  const held = sheet.blocks.length && edge > 0 ? sheet.hold(edge) : null;
  sheet.fill(source.files.value);
  sheet.shape(split, Math.max(16, Math.floor(text / kept.size.ch)));
  const byPath = commentsByPath(source);
  const form = desk.form.value;
  for (const block of sheet.blocks) {
    const { file } = block;
    const mine = byPath.get(file.path) ?? [];
    const here = form?.path === file.path ? form : null;
    const made = JSON.stringify([file.version.value, file.state, source.isShown(file), mine, here]);
    if (made === block.made) continue;
    block.made = made;
    sheet.make(block, source, mine, here);
  }
  sheet.stack();
  if (held) kept.shift = sheet.blocks.includes(held.block) ? sheet.topOf(held.block, held.key) + held.over - edge : 0;
  kept.y += kept.shift ?? 0;
  kept.from = kept.y - spare;
  kept.to = kept.y + kept.height + spare;
  const sight = sheet.sight(kept.from, kept.to);

  // look reads the scroll position, and draws if rows have become visible that are not drawn.
  const look = (always) => {
    if (!ref.current) return;
    kept.y = -ref.current.getBoundingClientRect().top;
    kept.height = innerHeight;
    const { sticky } = kept;
    const top = sheet.blocks[Math.min(sheet.blocks.length - 1, sheet.at(kept.y + sticky + 1))];
    if (top) desk.current.value = top.file.path;
    if (always === true || kept.y < kept.from + spare / 3 || kept.y + kept.height > kept.to - spare / 3) draw();
  };

  // The sizes change with the window and with the bars above the diff.
  useLayoutEffect(() => {
    const measure = () => {
      const size = { width: ref.current.clientWidth, ch: probe.current.getBoundingClientRect().width / 20 || 7.5 };
      const bars = ['.top', '.reviewbar'].map((name) => document.querySelector(name)).map((el) => (el && getComputedStyle(el).position === 'sticky' ? el.offsetHeight : 0));
      kept.sticky = bars[0] + bars[1];
      const { style } = ref.current.closest('.review-page');
      style.setProperty('--bar', `${bars[0]}px`);
      style.setProperty('--under', `${kept.sticky}px`);
      const other = size.width !== kept.size.width || size.ch !== kept.size.ch;
      kept.size = size;
      if (other) draw();
      look(other);
    };
    const seen = new ResizeObserver(measure);
    for (const el of [ref.current, document.querySelector('.top'), document.querySelector('.reviewbar')]) if (el) seen.observe(el);
    const byUser = () => { kept.target = null; };
    addEventListener('scroll', look, { passive: true });
    addEventListener('resize', measure);
    for (const type of userScrolls) addEventListener(type, byUser, { passive: true, capture: true });
    measure();
    return () => {
      seen.disconnect();
      removeEventListener('scroll', look);
      removeEventListener('resize', measure);
      for (const type of userScrolls) removeEventListener(type, byUser, { capture: true });
    };
  }, [sheet]);

  // Keeps the visible rows in place when a file above them gets longer.
  useLayoutEffect(() => {
    const { shift } = kept;
    kept.shift = 0;
    if (shift) scrollBy(0, shift);
    let wrong = false;
    for (const el of ref.current.querySelectorAll('.rowsin')) wrong = settle(sheet, el) || wrong;
    if (kept.target) {
      desk.view.approach();
      const files = sight.map(({ block }) => block.file);
      if (!wrong && files.some((f) => f.path === kept.target?.path) && !files.some((f) => source.isAwaited(f))) kept.target = null;
    }
    if (wrong) draw();
    else if (kept.then) {
      const then = kept.then;
      kept.then = null;
      then();
    }
  });
  useEffect(() => { source.want(wanted(sheet, sight)); });

  const tell = (block, key, height) => {
    if (block.measured.get(key) === height) return;
    block.measured.set(key, height);
    block.made = '';
    draw();
  };

  desk.view = control({ sheet, desk, source, kept, ref, draw, may, split });
  useLayoutEffect(() => () => { desk.view = null; }, []);
  const marking = useMarking(desk, source, may);
  return html`<div ref=${ref} class=${`diffs${split ? ' split' : ''}`} style=${{ height: `${sheet.height}px` }} ...${marking}>
    <span ref=${probe} class="probe" aria-hidden="true">00000000000000000000</span>
    ${sight.map(({ block, first, last }) => html`<${FileView} key=${block.file.path} index=${sheet.blocks.indexOf(block)} source=${source} desk=${desk} block=${block} first=${first} last=${last} may=${may} cursor=${desk.cursor.value} marked=${desk.marked.value} tell=${tell} />`)}
  </div>`;
}

/** The comments of each file, with their anchors. @param {import('./source.js').Source} source */
export function commentsByPath(source) {
  const files = new Set(source.files.value.map((f) => f.path));
  const anchors = new Map(source.anchors.value.map((a) => [a.comment, a]));
  const out = new Map();
  for (const comment of source.review.value?.comments ?? []) {
    const found = anchors.get(comment.id) ?? comment;
    const anchor = files.has(found.path) ? found : { ...found, path: '', first: 0, last: 0, outdated: Boolean(found.path) };
    if (!out.has(anchor.path)) out.set(anchor.path, []);
    out.get(anchor.path).push({ comment, anchor });
  }
  return out;
}

// wanted returns the visible files and the next two.
function wanted(sheet, sight) {
  const files = sight.map((s) => s.block.file);
  const last = sheet.blocks.indexOf(sight.at(-1)?.block);
  for (let i = last + 1; i < Math.min(last + 3, sheet.blocks.length); i++) files.push(sheet.blocks[i].file);
  return files;
}

// settle records the measured height of rows that differ from the computed one: comments,
// and lines with wide characters.
function settle(sheet, el) {
  const block = sheet.blocks[Number(el.dataset.block)];
  let i = Number(el.dataset.first);
  let wrong = false;
  for (const node of el.children) {
    const { kind, key, short, left, right } = block.rows[i++] ?? {};
    const lines = kind === 'line' || kind === 'pair';
    if (kind === 'gap' || kind === 'wait' || !kind || (kind === 'line' ? short : lines && (left?.short ?? true) && (right?.short ?? true))) continue;
    if (lines && block.checked.has(key)) continue;
    if (lines) block.checked.add(key);
    const height = node.offsetHeight;
    if (block.tops[i] - block.tops[i - 1] === height) continue;
    block.measured.set(key, height);
    wrong = true;
  }
  if (wrong) block.made = ''; // recompute the rows when the block is drawn next
  return wrong;
}

// useMarking lets the user mark lines: a click on a line number opens a comment on that
// line; Shift+click, or dragging, on a range of lines.
function useMarking(desk, source, may) {
  const began = useRef(null);
  const placeOf = (e) => {
    const cell = e.target.closest?.('.n[data-side]');
    return cell && { path: cell.closest('.file').dataset.path, side: cell.dataset.side, n: Number(cell.dataset.n), key: cell.closest('[data-key]').dataset.key };
  };
  const mark = (to) => {
    const from = began.current;
    if (!from || from.path !== to.path || from.side !== to.side) return;
    desk.marked.value = { path: to.path, side: to.side, first: Math.min(from.n, to.n), last: Math.max(from.n, to.n) };
  };
  return {
    onPointerDown(e) {
      const at = placeOf(e);
      if (!at || !may || e.button) return;
      e.preventDefault();
      if (e.pointerType === 'touch') e.target.releasePointerCapture(e.pointerId);
      const cursor = desk.cursor.value;
      const before = desk.marked.value;
      if (!e.shiftKey || !before || before.path !== at.path || before.side !== at.side) began.current = at;
      else began.current = { ...at, n: before.first };
      desk.cursor.value = { ...cursor, path: at.path, key: at.key, side: at.side };
      mark(at);
    },
    onPointerOver(e) {
      const at = e.buttons && placeOf(e);
      if (at) mark(at);
    },
    onPointerUp(e) {
      const marked = desk.marked.value;
      if (!began.current || !placeOf(e) || !marked) return;
      began.current = null;
      desk.view.comment();
    },
  };
}

// control returns the actions on the diff for the keys and the tree.
function control({ sheet, desk, source, kept, ref, draw, may, split }) {
  const line = (r) => r.kind === 'line' || r.kind === 'pair';
  const position = () => {
    const c = desk.cursor.value;
    const b = c ? sheet.blocks.findIndex((x) => x.file.path === c.path) : -1;
    if (b >= 0) return { b, i: c.key ? sheet.blocks[b].rows.findIndex((r) => r.key === c.key) : -1 };
    return { b: Math.min(sheet.blocks.length - 1, sheet.at(Math.max(0, kept.y + kept.sticky))), i: -1, none: true };
  };
  const scroll = (y, room) => scrollTo(0, ref.current.getBoundingClientRect().top + scrollY + y - kept.sticky - room);
  const put = (b, i) => {
    const block = sheet.blocks[b];
    const r = block.rows[i];
    const side = !r ? 'new' : r.kind === 'pair' ? (desk.cursor.value?.side === 'old' && r.left ? 'old' : r.right ? 'new' : 'old') : r.new ? 'new' : 'old';
    desk.cursor.value = { path: block.file.path, key: r?.key ?? '', side };
    reveal(block, r?.key ?? '');
  };
  const reveal = (block, key) => {
    const top = sheet.topOf(block, key);
    const high = key ? 40 : head;
    const seen = kept.y + kept.sticky + (key ? head : 0);
    if (top < seen) scroll(top, key ? head + 40 : 0);
    else if (top + high > kept.y + kept.height - 40) scroll(top, key ? Math.round((kept.height - kept.sticky) / 3) : 0);
  };
  const view = {
    /** Moves the cursor by lines. */
    line(by, extend) {
      let { b, i, none } = position();
      if (b < 0) return;
      if (none && by > 0) return put(b, -1);
      const before = desk.cursor.value;
      do {
        i += by;
        if (i >= sheet.blocks[b].rows.length) {
          if (b + 1 >= sheet.blocks.length || extend) return;
          [b, i] = [b + 1, -1];
        } else if (i < -1) {
          if (b === 0 || extend) return;
          i = sheet.blocks[--b].rows.length - 1;
        }
      } while (i >= 0 && !line(sheet.blocks[b].rows[i]));
      put(b, i);
      const after = desk.cursor.value;
      if (!extend || !before?.key || before.path !== after.path) { desk.marked.value = null; return; }
      const block = sheet.blocks[b];
      const numberOf = (c, side) => { const r = block.rows.find((x) => x.key === c.key); return (r?.kind === 'pair' ? (side === 'old' ? r.left : r.right) : r)?.[side] ?? 0; };
      const m = desk.marked.value ?? { path: before.path, side: before.side, first: numberOf(before, before.side), last: numberOf(before, before.side), from: numberOf(before, before.side) };
      const n = numberOf(after, m.side);
      if (n) desk.marked.value = { ...m, from: m.from ?? m.first, first: Math.min(m.from ?? m.first, n), last: Math.max(m.from ?? m.first, n) };
    },
    /** Moves the cursor by hunks. */
    hunk(by) {
      let { b, i } = position();
      if (b < 0) return;
      desk.marked.value = null;
      for (;;) {
        i += by;
        const { rows, file } = sheet.blocks[b];
        if (i >= 0 && i < rows.length) {
          if (rows[i].hunk !== undefined) return put(b, i);
        } else if (by > 0 ? i >= rows.length : i < 0) {
          if (file.state === 'loading') return; // the hunks of the file are not known yet
          b += by;
          if (b < 0 || b >= sheet.blocks.length) return;
          const next = sheet.blocks[b];
          if (!next.rows.some((r) => r.hunk !== undefined)) return put(b, -1);
          i = by > 0 ? -1 : next.rows.length;
        }
      }
    },
    /** Moves the cursor by files. */
    file(by) {
      const { b, i, none } = position();
      if (b < 0) return;
      desk.marked.value = null;
      const to = none || (by < 0 && i >= 0) ? b : b + by;
      if (to >= 0 && to < sheet.blocks.length) put(to, -1);
    },
    /** Shows a file, or a row of it. */
    show(path, key = '') {
      const b = sheet.blocks.findIndex((x) => x.file.path === path);
      if (b < 0) return;
      const { file } = sheet.blocks[b];
      desk.cursor.value = { path, key, side: 'new' };
      if (key && !source.isShown(file)) file.shown = true;
      kept.target = { path, key };
      view.approach();
      draw();
    },
    /** Scrolls to the target of show. It is called until the files there are read, because the height of a file is only estimated before. */
    approach() {
      const { path, key } = kept.target;
      const block = sheet.blocks.find((x) => x.file.path === path);
      if (block) scroll(sheet.topOf(block, key), key ? head + 60 : 0);
      else kept.target = null;
    },
    /** Opens a form for the marked lines, for the line of the cursor, or for a file. */
    comment(path) {
      if (!may) return;
      const change = source.change.value;
      const m = desk.marked.value;
      const c = path !== undefined ? { path, key: '' } : m ? { path: m.path, key: 'marked' } : desk.cursor.value;
      if (!c) return;
      const block = sheet.blocks.find((b) => b.file.path === c.path);
      if (!block) return;
      if (!source.isShown(block.file)) { block.file.shown = true; block.file.touch(); }
      const place = { path: c.path, side: 'new', first: 0, last: 0, tree: change.tree, lines: '' };
      if (c.key) {
        const rows = block.rows.flatMap((r) => (r.kind === 'line' ? [r] : r.kind === 'pair' ? [r.left, r.right].filter(Boolean) : []));
        const one = rows.find((r) => r.key === c.key);
        place.side = m ? m.side : split && c.side ? c.side : one?.new ? 'new' : 'old';
        const row = split && !m ? block.rows.find((r) => r.key === c.key) : one;
        const n = m ? 0 : (row?.kind === 'pair' ? (place.side === 'old' ? row.left : row.right) : row)?.[place.side] ?? 0;
        [place.first, place.last] = m ? [m.first, m.last] : [n, n];
        if (place.side === 'old') place.tree = source.from || change.base;
        const text = new Map(rows.filter((r) => r[place.side]).map((r) => [r[place.side], r.text]));
        place.lines = Array.from({ length: Math.min(200, place.last - place.first + 1) }, (_, k) => text.get(place.first + k)).filter((l) => l !== undefined).join('\n').slice(0, 16_000);
      }
      desk.form.value = place;
      if (!c.key) view.show(c.path);
    },
    /** Marks the file of the cursor as viewed, and goes to the next. */
    viewed() {
      const { b } = position();
      if (b < 0 || !may) return undefined;
      const { file } = sheet.blocks[b];
      const on = source.viewed(file.file) !== 'yes';
      if (on && b + 1 < sheet.blocks.length) kept.then = () => put(b + 1, -1);
      else desk.cursor.value = { path: file.path, key: '', side: 'new' };
      return source.view(file, on);
    },
  };
  return view;
}
