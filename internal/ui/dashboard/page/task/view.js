// The view of a log. Only the visible lines are in the DOM.
import { html, memo, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../core/view.js';
import { bytes, count } from '../core/words.js';
import { mark, show } from './renderline.js';
import { Sight } from './viewport.js';

/**
 * @param {{log: import('./log.js').Log, raw: boolean, wrap: boolean, find: string, line: number, choose: (n: number) => void, control: {current: any}}} props
 * line: the number of the marked line, or 0. A click on a line's number chooses it.
 */
export function LogView({ log, raw, wrap, find, line, choose, control }) {
  const ref = useRef(null);
  const [, draw] = useState(0);
  const sight = useMemo(() => new Sight(log), [log]);
  const kept = useRef({ last: 0, top: 0, rows: [], stopped: 0, moved: false }).current;
  log.version.value;
  const { state, starts } = log.span.value;
  const place = log.found.value.place;
  const view = ref.current?.clientHeight || 600;
  if (ref.current && !sight.jumped) scroll(ref.current, sight, kept, log); // the scroll event may not have arrived yet
  const rows = kept.rows = sight.rows(view);
  const again = () => draw((n) => n + 1);

  control.current = {
    end() { sight.end = true; again(); },
    begin() { sight.show({ piece: log.span.value.first, line: 0 }); again(); },
    show(where) {
      sight.show(where, -(ref.current?.clientHeight ?? 0) / 3);
      ref.current?.scrollIntoView({ block: 'nearest' });
      again();
    },
    /** The visible line from which a search starts: the first, or the last for a search upwards. */
    edge(step) { const seen = inSight(ref.current, kept); return step > 0 ? seen.at(0) : seen.at(-1); },
  };

  useLayoutEffect(() => settle(ref.current, sight, kept), undefined);
  useEffect(() => { if (place) control.current.show(place); }, [place]);
  useEffect(() => {
    const seen = new ResizeObserver(again);
    seen.observe(ref.current);
    return () => seen.disconnect();
  }, []);
  useLayoutEffect(() => () => { control.current = null; }, []); // a layout effect, because the next view sets control before other effects run

  // Browsers send scroll events with the next frame, when the log may be removed already.
  const scrolled = () => { if (ref.current && scroll(ref.current, sight, kept, log)) again(); };
  // After scrolling ends, corrects the scroll bar: after scrolling line by line, it may
  // differ from the real position.
  const settled = () => {
    if (!ref.current) return undefined;
    if (scroll(ref.current, sight, kept, log)) return again();
    if (sight.end || !kept.moved) return undefined;
    kept.moved = false;
    sight.jumped = true;
    return again();
  };
  const numbered = (e) => { if (Number(e.target.dataset.n)) choose(Number(e.target.dataset.n)); };
  const news = log.added - kept.stopped;
  return html`<div class="logbox">
    <div ref=${ref} class=${`log${wrap ? ' wrap' : ''}`} tabindex="0" role="region" aria-label="Log" onScroll=${scrolled} onScrollEnd=${settled} onClick=${numbered}>
      <div class="space"></div>
      <div class="block">${rows.map((r) => html`<${Row} key=${`${r.piece}:${r.line}`} data=${r.data} place=${`${r.piece}:${r.line}`} attempt=${starts.length > 1 ? r.attempt : 0} loading=${r.loading}
        n=${r.loading ? 0 : log.count.number(r.piece, r.line)} middle=${log.count.middles.has(r.piece)} raw=${raw} wrap=${wrap} find=${find} hit=${place !== null && place?.piece === r.piece && place?.line === r.line} line=${line} />`)}</div>
    </div>
    ${!sight.end && html`<button class="toend" onClick=${() => control.current.end()}>${news > 0 ? `${count(news)} new line${news === 1 ? '' : 's'} ↓` : state === 'live' ? 'Follow ↓' : 'To the end ↓'}</button>`}
  </div>`;
}

const Row = memo(({ data, place, attempt, loading, middle, n, raw, wrap, find, hit, line }) => {
  if (loading) return html`<div class="l loading" data-place=${place}><span class="n"></span><span class="t faint">Loading…</span></div>`;
  if (middle) return html`<div class="l" data-place=${place}><span class="n"></span><span class="t"><em class="cut">⋮ ${bytes(data.cut)} more of the same line</em></span></div>`;
  const shown = show(data, { raw, wrap });
  return html`<div class=${`l${hit || (n > 0 && n === line) ? ' hit' : ''}${shown.kind && ` s-${shown.kind}`}`} data-place=${place}>
    ${attempt > 0 && html`<div class="attempt" role="separator" aria-label=${`Attempt ${attempt}`}><span>attempt ${attempt}</span></div>`}
    <span class="n" data-n=${n || ''} aria-hidden="true"></span><span class="t">${shown.kind && html`<span class="m" aria-label=${words[shown.kind]} role="img">${signs[shown.kind]}</span>`}${mark(shown.runs, find).map(run)}${shown.cut > 0 && html`<em class="cut">… ${bytes(shown.cut)} more of this line, cut</em>`}</span></div>`;
});

const signs = { say: '›', tool: '▸', done: '✓', bad: '✗', note: '·', think: '∴' };
const words = { say: 'says:', tool: 'uses:', done: 'done:', bad: 'problem:', note: 'note:', think: 'thinks:' };

/** @param {import('./ansi.js').Run & {mark?: boolean}} r */
export function run(r) {
  const look = [r.class, r.fg && 'a-fg', r.bg && 'a-bg'].filter(Boolean).join(' ');
  const style = r.fg || r.bg ? { '--fg': r.fg, '--bg': r.bg } : undefined;
  if (r.mark) return html`<mark class=${look || undefined} style=${style}>${r.text}</mark>`;
  return look ? html`<span class=${look} style=${style}>${r.text}</span>` : r.text;
}

/** The places of the visible rows. */
function inSight(el, kept) {
  const block = el.lastElementChild;
  const from = el.scrollTop - kept.top;
  const list = [];
  for (const node of block.children) {
    if (node.offsetTop + node.offsetHeight > from && node.offsetTop < from + el.clientHeight) list.push(placeOf(node));
  }
  return list.length ? list : [{ piece: 0, line: 0 }];
}

function placeOf(node) {
  const [piece, line] = node.dataset.place.split(':').map(Number);
  return { piece, line: Math.max(0, line) };
}

// settle positions the rows before they are painted.
function settle(el, sight, kept) {
  const [space, block] = el.children;
  const view = el.clientHeight;
  const tall = block.offsetHeight;
  const { rows } = kept;
  if (rows.length) sight.row = Math.max(20, Math.round(tall / rows.length));
  let height = Math.max(sight.height(view), tall);
  const whole = sight.isFirst(rows[0]) && sight.isLast(rows.at(-1));
  if (whole) height = Math.max(tall, view);
  const put = (top) => {
    kept.top = Math.max(0, top);
    block.style.transform = `translateY(${kept.top}px)`;
    if (el.scrollTop !== kept.last) kept.last = el.scrollTop;
  };
  if (sight.end) {
    space.style.height = `${height}px`;
    put(whole && tall <= view ? 0 : height - tall);
    el.scrollTop = height;
    kept.last = el.scrollTop;
    return;
  }
  const node = block.querySelector(`[data-place="${sight.piece}:${sight.line}"]`) ?? block.firstElementChild;
  if (!node) return;
  if (sight.jumped) {
    space.style.height = `${height}px`;
    el.scrollTop = sight.part(view) * (height - view);
    sight.jumped = false;
  }
  let top = el.scrollTop - sight.over - node.offsetTop;
  if (top < 0 || sight.isFirst(rows[0])) {
    el.scrollTop -= top;
    top = 0;
  }
  height = sight.isLast(rows.at(-1)) ? top + tall : Math.max(height, top + tall);
  space.style.height = `${height}px`;
  kept.last = el.scrollTop;
  put(top);
}

// scroll follows the user's scrolling. When the user leaves the end, it records from where
// on lines count as new.
function scroll(el, sight, kept, log) {
  const was = sight.end;
  const moved = move(el, sight, kept);
  if (was && !sight.end) kept.stopped = log.added;
  return moved;
}

// move finds the top line after the user has scrolled. It returns whether the user has
// scrolled.
function move(el, sight, kept) {
  const by = el.scrollTop - kept.last;
  if (Math.abs(by) < 1) return false;
  kept.last = el.scrollTop;
  kept.moved = true;
  const block = el.lastElementChild;
  const view = el.clientHeight;
  const target = el.scrollTop - kept.top;
  if (target < -view || target > block.offsetHeight) {
    // A turn of the wheel on a busy page may go beyond the rows that are drawn. Only the scroll bar goes farther.
    if (!sight.end && Math.abs(by) < 10 * view) sight.move(by);
    else sight.jump(el.scrollTop / Math.max(1, el.scrollHeight - view), view);
    return true;
  }
  const last = kept.rows.at(-1);
  if (by > 0 && sight.isLast(last) && target + view >= block.offsetHeight - 4) {
    sight.end = true;
    return true;
  }
  const node = [...block.children].find((n) => n.offsetTop + n.offsetHeight > target) ?? block.lastElementChild;
  if (!node) return false;
  Object.assign(sight, placeOf(node), { over: Math.max(0, target - node.offsetTop), end: false });
  return true;
}
