// The timeline of a run: the attempts and waiting times of each task.
import { go, link } from '../core/route.js';
import { at, clock, exact, now, span, tick } from '../core/time.js';
import { final } from '../core/words.js';
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../core/view.js';
import { Rows } from '../parts/rows.js';
import { Wrong } from '../parts/status.js';
import { BarTip, RunBars, TaskBars } from './bars.js';
import { criticalPath } from './criticalpath.js';
import { historiesOf, marks, wholeSpans } from './spans.js';
import { Zoom } from './zoom.js';

const shortest = 1000; // milliseconds that are shown at least
const height = 34;

/** @param {{run: string, whole: any, detail: any, structure: import('./structure.js').Structure, shown: number[], row: (id: string) => any}} props */
export function Timeline(props) {
  const { detail } = props;
  const [error, setError] = useState('');
  useEffect(() => { if (!detail.history.value) detail.loadHistory().catch((e) => setError(e.message)); }, []);
  if (detail.history.value) return html`<${Chart} ...${props} />`;
  return error ? html`<${Wrong} message=${error}><p>The list shows the tasks without their past.</p><//>` : html`<p class="starting">Loading the attempts…</p>`;
}

function Chart({ run, whole, detail, structure, shown, row }) {
  if (!final(whole.status)) tick.value;
  const time = final(whole.status) ? at(whole.ended) || now() : now();
  const histories = useMemo(() => historiesOf(detail.attempts.rows.values(), detail.questions.rows.values()), [detail.attempts.version.value, detail.questions.version.value]);
  const spans = wholeSpans(histories, time);
  const path = useMemo(() => criticalPath(structure, spans), [histories, structure, Math.floor(time / 1000)]);
  const [lit, setLit] = useState(true);
  const [tip, setTip] = useState(null);
  const ref = useRef(null);
  const width = useTrack(ref);
  const scale = useScale(ref, at(whole.created), time, width);
  const critical = new Set(lit ? path.ids : []);

  const rows = useMemo(() => [-1, ...shown], [shown.join()]);
  const draw = (i) => (i < 0
    ? html`<${RunBars} run=${whole} spans=${spans} scale=${scale} time=${time} />`
    : html`<${TaskBars} t=${row(structure.ids[i])} history=${histories.get(structure.ids[i])} scale=${scale} time=${time} critical=${critical.has(structure.ids[i])} />`);
  const open = (i) => { if (i >= 0) go(link('runs', run, 'tasks', structure.ids[i])); };
  useWhenMoved(() => setTip(null));
  const point = (e) => setTip(tipOf(e.target, e.type === 'focusin'));

  return html`<div class="timeline" ref=${ref} onKeyDown=${scale.key} onPointerOver=${point} onPointerLeave=${() => setTip(null)} onFocusIn=${point} onFocusOut=${() => setTip(null)}>
    <div class="g-tools"><button class="counter" aria-pressed=${lit} onClick=${() => setLit(!lit)}><span aria-hidden="true">◆</span> critical path</button>
      <${PathWords} path=${path} /><span class="space"></span><${Legend} /><${Zoom} closer=${() => scale.zoom(1.5)} farther=${() => scale.zoom(1 / 1.5)} fit=${scale.fit} /></div>
    <div class="scroll chart">
      <${Axis} scale=${scale} begin=${at(whole.created)} />
      <div class="g-lines" aria-hidden="true">${scale.ticks.map((t) => html`<i key=${t} style=${{ left: `${scale.x(t)}%` }}></i>`)}
        ${!final(whole.status) && html`<i class="now" style=${{ left: `${scale.x(time)}%` }}></i>`}</div>
      <${Rows} rows=${rows} height=${height} draw=${draw} id=${(i) => (i < 0 ? '\n' : structure.ids[i])} open=${open} label="Tasks over time" />
    </div>
    <${Pointed} tip=${tip} histories=${histories} row=${row} whole=${whole} time=${time} />
  </div>`;
}

const Pointed = ({ tip, ...rest }) => tip && html`<${BarTip} ...${tip} ...${rest} />`;

// tipOf returns the bar under the pointer, or the focused row.
function tipOf(target, whole) {
  const place = target.closest?.('[data-bar]') ?? (whole ? target.querySelector?.('[data-bar]:last-of-type, .g-label') : null);
  const of = target.closest?.('.row')?.querySelector('[data-task]')?.dataset.task;
  return place && of !== undefined ? { by: place.getBoundingClientRect(), task: of, bar: place.dataset.bar ?? '' } : null;
}

const Legend = () => html`<span class="g-legend faint" aria-hidden="true"><i class="g-bar asked"></i> waits for the user <i class="g-gap"></i> waits for a retry</span>`;

/** The duration of a critical path as text; never zero. @param {{work: number, wait: number}} path */
export const pathTime = ({ work, wait }) => (work + wait < 1000 ? 'less than 1s' : span(work + wait));

function PathWords({ path }) {
  if (!path.ids.length) return null;
  const names = path.ids.length > 6 ? [...path.ids.slice(0, 3), '…', ...path.ids.slice(-2)] : path.ids;
  return html`<span class="path-words" title=${path.ids.join(' → ')}><b>${pathTime(path)}</b> <span class="faint"><bdi>${names.join(' → ')}</bdi>${path.wait >= 1000 ? `, ${span(path.wait)} of it between tasks` : ''}</span></span>`;
}

function Axis({ scale, begin }) {
  return html`<div class="g-axis"><span class="g-label faint" title=${exact(begin)}>from ${clock(begin)}</span>
    <span class="g-track">${scale.ticks.map((t) => html`<span key=${t} class=${scale.x(t) > 94 ? 'last' : ''} style=${{ left: `${scale.x(t)}%` }} title=${exact(t)}>${span(t - begin)}</span>`)}</span></div>`;
}

// Calls away when the page scrolls or its size changes, to hide a tooltip.
function useWhenMoved(away) {
  useEffect(() => {
    for (const name of ['scroll', 'resize']) addEventListener(name, away, { passive: true });
    return () => { for (const name of ['scroll', 'resize']) removeEventListener(name, away); };
  }, []);
}

/** The width of the area with the bars, in pixels. */
function useTrack(ref) {
  const [width, set] = useState(600);
  useLayoutEffect(() => {
    const look = () => set(ref.current.querySelector('.g-axis .g-track').getBoundingClientRect().width || 600);
    look();
    const watch = new ResizeObserver(look);
    watch.observe(ref.current);
    return () => watch.disconnect();
  }, []);
  return width;
}

/**
 * The shown period, and the functions that change it. By default it is the whole run.
 * @param {number} begin @param {number} end
 */
function useScale(ref, begin, end, width) {
  const [chosen, choose] = useState(null);
  const room = Math.max(shortest, (end - begin) * 1.02);
  const all = { from: begin, to: begin + room };
  const { from, to } = chosen ?? all;
  const set = (a, b) => {
    const long = Math.max(shortest, Math.min(room, b - a));
    if (long >= room) return choose(null);
    const start = Math.max(begin, Math.min(begin + room - long, a));
    return choose({ from: start, to: start + long });
  };
  const zoom = (factor, part = 0.5) => { const mid = from + (to - from) * part; set(mid - ((to - from) * part) / factor, mid + ((to - from) * (1 - part)) / factor); };
  const pan = (part) => set(from + (to - from) * part, to + (to - from) * part);
  const fit = () => choose(null);
  const act = { '+': () => zoom(1.5), '=': () => zoom(1.5), '-': () => zoom(1 / 1.5), 0: fit, ArrowRight: () => pan(0.2), ArrowLeft: () => pan(-0.2) };
  const key = (e) => { if (act[e.key] && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); act[e.key](); } };
  useWheel(ref, zoom, pan);
  return { from, to, x: (t) => ((t - from) / (to - from)) * 100, px: (ms) => (ms / (to - from)) * width, ticks: marks(begin, from, to, Math.max(2, width / 90)), zoom, pan, fit, key };
}

// The mouse wheel scrolls the page. With Ctrl it zooms; sideways or with Shift it moves.
function useWheel(ref, zoom, pan) {
  const act = useRef(null);
  act.current = { zoom, pan };
  useEffect(() => {
    const chart = ref.current.querySelector('.chart');
    const wheel = (e) => {
      const track = chart.querySelector('.g-axis .g-track').getBoundingClientRect();
      if (e.ctrlKey || e.metaKey) {
        e.preventDefault();
        act.current.zoom(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.002)), Math.max(0, Math.min(1, (e.clientX - track.left) / track.width)));
      } else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
        e.preventDefault();
        act.current.pan((e.deltaX || e.deltaY) / track.width);
      }
    };
    chart.addEventListener('wheel', wheel, { passive: false });
    return () => chart.removeEventListener('wheel', wheel);
  }, []);
}
