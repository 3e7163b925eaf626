// The report: key figures, advice and charts.
import { link } from '../core/route.js';
import { span } from '../core/time.js';
import { count, many, money } from '../core/words.js';
import { html } from '../core/view.js';
import { Bars, Chart, Legend, Patterns, Rates, Weeks } from './charts.js';
import { bucket, ended, num, parts, rate, used } from './numbers.js';

const most = 12; // rows of a chart
const tabled = 200; // rows of the table behind a chart

const took = (s) => (num(s) > 0 ? (s < 1 ? 'under 1s' : span(Math.round(s) * 1000)) : '–');

const within = (s) => (num(s) < 1 ? 'under 1s' : took(s));

/** @param {{s: any}} props */
export function Tiles({ s }) {
  const tile = (name, value, note) => html`<div class="panel tile"><dt>${name}</dt><dd><b>${value}</b>${note && html` <span class="faint">${note}</span>`}</dd></div>`;
  const low = ended(s) >= 3 && num(s.success_rate) < 70;
  return html`<dl class="tiles">
    ${tile('Attempts', count(num(s.total_runs)), `of ${many(num(s.tasks), 'task')}`)}
    ${tile('Success', html`<span class=${low ? 'low' : ''}>${low && html`<span aria-hidden="true">▼ </span>`}${rate(s)}</span>`, `${count(num(s.success))} of ${count(ended(s))} ended`)}
    ${tile('Retried', `${num(s.retry_rate).toFixed(1)}%`, many(num(s.retry_count), 'task'))}
    ${tile('On average', took(s.avg_duration_seconds), s.duration_distribution?.runs > 0 && `90% within ${within(s.duration_distribution.p90)}`)}
    ${tile('Cost', money(num(s.cost?.usd)) || '–', num(s.cost?.failed_usd) > 0 && `${money(s.cost.failed_usd)} for what failed`)}
    ${num(s.running) > 0 && tile('Running', count(s.running), num(s.stuck) > 0 && `${count(s.stuck)} stuck`)}
  </dl>`;
}

/** @param {{list: any[]}} props */
export function Advice({ list }) {
  if (!Array.isArray(list) || !list.length) return null;
  return html`<section aria-label="Recommendations"><h2>Recommendations</h2><ul class="advice">${list.map((r, i) => html`<li key=${i} class="panel"><strong>${String(r.finding)}</strong><p>${String(r.advice)}</p>
    ${r.evidence?.length > 0 && html`<p class="faint">seen in ${r.evidence.map((b, j) => html`${j > 0 && ', '}<a key=${b} href=${`${link('records')}?bead=${encodeURIComponent(b)}`}>${b}</a>`)}</p>`}</li>`)}</ul></section>`;
}

/** @param {{s: any}} props */
export function Charts({ s }) {
  return html`<${Patterns} /><section aria-label="Charts"><h2 class="hidden">Charts</h2><${Legend} of=${parts(s)} />
    <div class="charts">
      <${OverTime} s=${s} />
      <${Groups} title="By agent" head="Agent" list=${s.by_agent} name="agent" />
      <${Groups} title="By model" head="Model" list=${s.by_model} name="model" />
      <${Groups} title="By template" head="Template" list=${s.by_template} name="template" />
      <${Durations} d=${s.duration_distribution} />
      <${Reasons} s=${s} />
      <${Retries} r=${s.retries} />
    </div></section>`;
}

const heads = ['Runs', 'Done', 'Failed', 'Timed out', 'Running', 'Success', 'Average', 'Cost'];
const cells = (g) => [count(num(g.count)), count(num(g.success)), count(num(g.failed)), count(num(g.timeout)), count(num(g.running)), rate(g), took(g.avg_duration), money(num(g.cost_usd)) || '–'];

function OverTime({ s }) {
  const weeks = s.by_week ?? [];
  if (weeks.length < 2) return null; // a single week is no trend
  const rows = weeks.map((w) => [w.week, ...cells(w)]);
  const said = `${weeks.length} weeks, from ${weeks[0].week} to ${weeks.at(-1).week}`;
  return html`<${Chart} title="Runs by week" note="by the Monday of the week" said=${`Runs of ${said}`} head=${['Week', ...heads]} rows=${rows}><${Weeks} weeks=${weeks} /><//>
    <${Chart} title="Success by week" note="dashed at 70%, below which it is low" said=${`Success rate of ${said}`} head=${['Week', ...heads]} rows=${rows}><${Rates} weeks=${weeks} /><//>`;
}

function Groups({ title, head, list, name }) {
  if (!list?.length) return null;
  const sorted = [...list].sort((a, b) => num(b.count) - num(a.count));
  const top = Math.max(1, num(sorted[0].count));
  const bars = sorted.slice(0, most).map((g) => ({ name: String(g[name]), value: `${rate(g)} of ${count(ended(g))}`, parts: parts(g) }));
  const note = sorted.length > most ? `the ${most} with the most runs of ${count(sorted.length)}` : 'length shows runs, colour their outcome';
  return html`<${Chart} title=${title} note=${note} said=${`${title}: ${bars.map((b) => `${b.name} ${b.value}`).join(', ')}`} head=${[head, ...heads]} rows=${sorted.slice(0, tabled).map((g) => [String(g[name]), ...cells(g)])}><${Bars} rows=${bars} most=${top} /><//>`;
}

const single = (kind, name, n) => ({ name, value: count(n), parts: n > 0 ? [{ kind, word: 'runs', n }] : [] });

function Durations({ d }) {
  const list = used(d?.buckets ?? []);
  if (!list.length) return null;
  const bars = list.map((b) => single('plain', bucket(b), num(b.count)));
  const note = `half within ${within(d.p50)}, 90% within ${within(d.p90)}, 99% within ${within(d.p99)}${d.estimated ? ' (estimated, to 1%)' : ''}`;
  return html`<${Chart} title="How long runs took" note=${note} said=${note} head=${['Took', 'Runs']} rows=${bars.map((b) => [b.name, b.value])}><${Bars} rows=${bars} most=${Math.max(...list.map((b) => num(b.count)))} /><//>`;
}

function Reasons({ s }) {
  const list = s.failure_reasons ?? [];
  if (!list.length) return null;
  const bars = list.slice(0, most).map((r) => single('failed', String(r.reason), num(r.count)));
  return html`<${Chart} title="Why runs failed or timed out" note=${`of ${many(num(s.failed) + num(s.timeout), 'run')}`} said=${bars.map((b) => `${b.name} ${b.value}`).join(', ')} head=${['Reason', 'Runs']} rows=${list.slice(0, tabled).map((r) => [String(r.reason), count(num(r.count))])}>
    <${Bars} rows=${bars} most=${Math.max(1, num(list[0].count))} /><//>`;
}

function Retries({ r }) {
  const list = r?.by_attempts ?? [];
  if (!list.length) return null;
  const name = (a) => (a.or_more ? `${a.attempts} or more` : many(num(a.attempts), 'attempt'));
  const bars = list.map((a) => ({ name: name(a), value: `${count(num(a.done))} of ${many(num(a.tasks), 'task')} done`, parts: [{ kind: 'complete', word: 'done', n: num(a.done) }, { kind: 'other', word: 'not done', n: num(a.tasks) - num(a.done) }].filter((p) => p.n > 0) }));
  return html`<${Chart} title="Attempts that tasks took" note=${`${count(num(r.tasks))} retried, ${count(num(r.done))} of them done, ${count(num(r.gave_up))} given up`} said=${bars.map((b) => `${b.name}: ${b.value}`).join(', ')} head=${['Attempts', 'Tasks', 'Done']} rows=${list.map((a) => [name(a), count(num(a.tasks)), count(num(a.done))])}>
    <${Bars} rows=${bars} most=${Math.max(1, ...list.map((a) => num(a.tasks)))} /><//>`;
}
