// Rows of a timeline.
import { link } from '../core/route.js';
import { at, clock, exact, span } from '../core/time.js';
import { count, final, kind, money, sign, text } from '../core/words.js';
import { html } from '../core/view.js';
import { Status } from '../parts/status.js';
import { workerName } from './row.js';
import { waitsOf } from './spans.js';
import { line, stateOf } from './task.js';
import { Tip } from './tip.js';

const place = (scale, start, end) => ({ left: `${scale.x(start)}%`, width: `${scale.x(end) - scale.x(start)}%` });

/** A bar in the colour of its status, with the status's sign if it fits. */
const Bar = ({ scale, start, end, state, name, label }) => html`<span class=${`g-bar k-${kind(state)}`} data-bar=${name} style=${place(scale, start, end)}>
  ${scale.px(end - start) > 17 && html`<span class="sign" aria-hidden="true">${sign(state)}</span>`}<span class="hidden">${label}</span></span>`;

const Gap = ({ scale, w, name }) => html`<span class="g-gap" data-bar=${name} style=${place(scale, w.start, w.end)}>
  ${scale.px(w.end - w.start) > 14 && html`<span class="sign" aria-hidden="true">${w.limited ? '⏸' : '↻'}</span>`}<span class="hidden">waited ${span(w.end - w.start)} after ${w.why}</span></span>`;

const Label = ({ t, state, critical }) => html`<span class="g-label">
  <span class=${`sign k-${kind(state)}`} title=${state} aria-hidden="true">${sign(state)}</span><span class="hidden">${state}, </span>
  <a tabindex="-1" href=${link('runs', text(t.run), 'tasks', text(t.id))} title=${text(t.name)}><bdi>${text(t.id)}</bdi></a>
  ${critical && html`<span class="g-mark" title="on the critical path"><span aria-hidden="true">◆</span><span class="hidden">, on the critical path</span></span>`}</span>`;

/** @param {{t: any, history: import('./spans.js').History|undefined, scale: any, time: number, critical: boolean}} props */
export function TaskBars({ t, history = { tries: [], asked: [] }, scale, time, critical }) {
  if (!t) return null;
  const state = stateOf(t);
  const ends = (s) => (Number.isNaN(s.end) ? time : s.end);
  return html`<div class=${`gantt ${critical ? 'critical' : ''}`} data-task=${text(t.id)}>
    <${Label} t=${t} state=${state} critical=${critical} />
    <span class="g-track">
      ${waitsOf(history, t, time).map((w, k) => html`<${Gap} key=${`w${k}`} scale=${scale} w=${w} name=${`w${k}`} />`)}
      ${history.tries.map((s, k) => html`<${Bar} key=${s.row.id} scale=${scale} start=${s.start} end=${ends(s)} state=${s === history.tries.at(-1) && s.row.status === 'running' ? state : text(s.row.status)} name=${`a${k}`} label=${words(s, ends(s))} />`)}
      ${history.asked.map((q, k) => html`<span key=${q.row.id} class="g-bar asked" data-bar=${`q${k}`} style=${place(scale, q.start, ends(q))}><span class="hidden">asked a person for ${span(ends(q) - q.start)}</span></span>`)}
      ${!history.tries.length && t.status !== 'queued' && html`<span class="g-never faint">did not begin</span>`}
    </span></div>`;
}

const words = (s, end) => `attempt ${s.row.number} ${text(s.row.status)}, ${span(end - s.start)}${s.row.class ? `, ${text(s.row.class)}` : ''}`;

/** The bar of the whole run, with the number of tasks that ran at once. */
export function RunBars({ run, spans, scale, time }) {
  const ended = at(run.ended);
  const end = Number.isNaN(ended) ? time : ended;
  return html`<div class="gantt whole" data-task="">
    <span class="g-label"><span class=${`sign k-${kind(run.status)}`} aria-hidden="true">${sign(run.status)}</span><b>whole run</b></span>
    <span class="g-track"><span class=${`g-bar k-${kind(run.status)}`} data-bar="run" style=${place(scale, at(run.created), end)}><${Busy} spans=${spans} from=${at(run.created)} to=${end} /><span class="hidden">${text(run.status)}, ${span(end - at(run.created))}</span></span></span></div>`;
}

// An area chart of the number of running tasks over time.
function Busy({ spans, from, to }) {
  if (!(to > from) || !spans.size) return null;
  const turns = [...spans.values()].flatMap(({ start, end }) => [[start, 1], [end, -1]]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let n = 0;
  let most = 1;
  for (const [, by] of turns) most = Math.max(most, n += by);
  n = 0;
  let d = 'M0 100';
  for (const [t, by] of turns) {
    const x = ((t - from) / (to - from)) * 1000;
    d += `L${x.toFixed(1)} ${100 - (n / most) * 100}`;
    n += by;
    d += `L${x.toFixed(1)} ${100 - (n / most) * 100}`;
  }
  return html`<svg class="busy" viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true"><path d=${`${d}L1000 ${100 - (n / most) * 100}V100Z`} /></svg>`;
}

/** The tooltip of the bar under the pointer. */
export function BarTip({ by, task, bar, histories, row, whole, time }) {
  const history = histories.get(task);
  const n = Number(bar.slice(1));
  if (bar === 'run' || task === '') return html`<${Tip} by=${by}><${WholeTip} run=${whole} time=${time} /><//>`;
  const s = bar[0] === 'a' ? history?.tries[n] : bar[0] === 'q' ? history?.asked[n] : undefined;
  const w = bar[0] === 'w' ? waitsOf(history ?? { tries: [] }, row(task), time)[n] : undefined;
  if (bar[0] === 'a' && s) return html`<${Tip} by=${by}><${TryTip} task=${task} s=${s} time=${time} /><//>`;
  if (bar[0] === 'q' && s) return html`<${Tip} by=${by}><p><b><bdi>${task}</bdi></b> asked a person</p><p>${text(s.row.text)}</p><p class="faint">${answered(s.row)} · ${lasted(s, time)}</p><//>`;
  if (w) return html`<${Tip} by=${by}><p><b><bdi>${task}</bdi></b> waited ${span(w.end - w.start)} ${w.limited ? 'for its agent’s rate limit' : 'to be tried again'}</p><p class="faint">${w.why && `after ${w.why}`}</p><//>`;
  const t = row(task);
  return html`<${Tip} by=${by}><p><b><bdi>${task}</bdi></b> ${t && html`<${Status} of=${stateOf(t)} />`}</p><p class="faint">${text(t?.name)}</p><//>`;
}

const lasted = (s, time) => `${clock(s.start)} – ${Number.isNaN(s.end) ? 'now' : clock(s.end)}, ${span((Number.isNaN(s.end) ? time : s.end) - s.start)}`;
const answered = (q) => (q.denied ? `denied by ${text(q.by)}` : q.answered ? `“${text(q.answer)}”, ${text(q.by)}` : q.closed ? 'not answered' : 'not answered yet');

function WholeTip({ run, time }) {
  const end = at(run.ended);
  return html`<p><b>${text(run.name) || text(run.id)}</b> <${Status} of=${text(run.status)} /></p>
    <p class="faint">${exact(run.created)}, ${span((Number.isNaN(end) ? time : end) - at(run.created))}${final(run.status) ? '' : ' so far'}</p>`;
}

function TryTip({ task, s, time }) {
  const a = s.row;
  const facts = [workerName(a.worker), a.spent?.tokens > 0 && `${count(a.spent.tokens)} tokens`, money(Number(a.spent?.usd) || 0)].filter(Boolean);
  return html`<p><b><bdi>${task}</bdi></b> attempt ${text(a.number)} <${Status} of=${text(a.status)} /> ${a.class && html`<span class="faint">${text(a.class)}</span>`}</p>
    <p>${lasted(s, time)}</p>${facts.length > 0 && html`<p class="faint">${facts.join(' · ')}</p>`}${line(a.summary) && html`<p class="summary">${line(a.summary)}</p>`}`;
}
