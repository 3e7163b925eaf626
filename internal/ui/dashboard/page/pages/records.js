// The records of attempts as a list, failures first, and their statistics.
import { runs } from '../core/fleet.js';
import { link, query, route, setQuery } from '../core/route.js';
import { exact, span } from '../core/time.js';
import { useTitle } from '../core/title.js';
import { count, many, money, own, text } from '../core/words.js';
import { html, useMemo, useState } from '../core/view.js';
import { useList } from '../parts/list.js';
import { Ago, Empty, Wrong } from '../parts/status.js';
import { Advice, Charts, Tiles } from '../records/report.js';
import { Outcome, Reason, Record } from '../records/record.js';
import { useReport } from '../records/source.js';

const filters = ['since', 'agent', 'model', 'template', 'project', 'run'];
const spans = [['', 'All time'], ['24h', 'The last 24 hours'], ['7d', 'The last 7 days'], ['30d', 'The last 30 days'], ['90d', 'The last 90 days']];

export function Page() {
  useTitle('Records');
  const asked = new URLSearchParams();
  for (const name of filters) if (query(name)) asked.set(name, query(name));
  const reports = useReport(asked.toString());
  const report = reports.report.value;
  const bead = query('bead');
  const rows = report?.raw_data ?? [];
  const row = bead && rows.find((r) => r.bead === bead && (!query('nth') || String(r.attempt) === query('nth')));
  return html`<header class="section"><h1>Records</h1><${Filters} reports=${reports} /></header>
    ${reports.error.value && html`<${Wrong} message=${reports.error.value} />`}
    ${!report && !reports.error.value && html`<p class="starting">Loading…</p>`}
    ${report && html`<${Unmatched} list=${report.unmatched} />
      ${bead && html`<${Record} key=${`${bead} ${query('nth')}`} row=${row} bead=${bead} />`}
      ${report.statistics?.total_runs > 0 ? html`<${Content} report=${report} rows=${rows} at=${row || null} />`
    : html`<${Empty} title=${asked.size ? 'No record is like that.' : 'Nothing was recorded yet.'}>${asked.size ? html`<button onClick=${() => setQuery(Object.fromEntries(filters.map((n) => [n, ''])))}>Show all records</button>` : html`<p>Each attempt of a run becomes a record. <a href="#/new">Start a run</a>.</p>`}<//>`}
      <p class="faint asof">As of ${exact(report.generated_at)}.</p>`}`;
}

function Content({ report, rows, at }) {
  const s = report.statistics;
  const view = query('view') === 'statistics' ? 'statistics' : 'list';
  const tab = (name, word) => html`<a href=${href(name === 'list' ? '' : name)} aria-current=${view === name ? 'page' : undefined}>${word}</a>`;
  return html`<${Tiles} s=${s} />
    <nav class="tabs" aria-label="Views">${tab('list', 'Records')}${tab('statistics', 'Statistics')}</nav>
    ${view === 'list' ? html`<${Records} rows=${rows} total=${s.total_runs} at=${at} />` : html`<${Advice} list=${report.recommendation_details} /><${Charts} s=${s} />`}`;
}

// href returns the address of another view with the same filters.
function href(view) {
  const q = new URLSearchParams(route.value.query);
  for (const name of ['view', 'bead', 'nth']) q.delete(name);
  if (view) q.set('view', view);
  return link('records') + (q.size ? `?${q}` : '');
}

function Filters({ reports }) {
  const { agents, models, templates } = reports.names.value;
  const projects = [...new Set(runs.all().map((r) => r.project).filter(Boolean))].sort();
  const choice = (name, word, all, list) => (list.length > 1 || query(name)) && html`<label>${word}<select value=${query(name)} onChange=${(e) => setQuery({ [name]: e.currentTarget.value, bead: '', nth: '' })}>
    <option value="">${all}</option>${[...new Set(query(name) ? [query(name), ...list] : list)].map((v) => html`<option key=${v} value=${v}>${v}</option>`)}</select></label>`;
  const known = spans.some(([v]) => v === query('since'));
  return html`<div class="filters" role="group" aria-label="Filters">
    <label>Since<select data-filter value=${query('since')} onChange=${(e) => setQuery({ since: e.currentTarget.value, bead: '', nth: '' })}>${spans.map(([v, word]) => html`<option key=${v} value=${v}>${word}</option>`)}${!known && html`<option value=${query('since')}>${query('since')}</option>`}</select></label>
    ${choice('agent', 'Agent', 'All agents', agents)}${choice('model', 'Model', 'All models', models)}${choice('template', 'Template', 'All templates', templates)}${choice('project', 'Project', 'All projects', projects)}
    ${query('run') && html`<button class="counter" aria-pressed="true" onClick=${() => setQuery({ run: '', bead: '', nth: '' })} title="Show all runs">${text(runs.get(query('run'))?.name) || query('run')} <span aria-hidden="true">✕</span></button>`}
    ${reports.busy.value && html`<span class="faint" role="status">Counting…</span>`}</div>`;
}

function Unmatched({ list }) {
  if (!list?.length) return null;
  return html`${list.map((u, i) => html`<p key=${i} class="faint">No record has the ${String(u.field)} “${String(u.name)}”${u.seen?.length > 0 && `; there are ${u.seen.slice(0, 10).join(', ')}`}.</p>`)}`;
}

const page = 100;

// The order of outcomes when failures come first.
const rank = { failed: 0, timeout: 0, running: 1 };

function Records({ rows, total, at }) {
  const latest = query('sort') === 'latest';
  const [shown, setShown] = useState(page);
  const sorted = useMemo(() => (latest ? rows : [...rows].sort((a, b) => (own(rank, a.status) ?? 2) - (own(rank, b.status) ?? 2))), [rows, latest]);
  const list = useMemo(() => sorted.slice(0, shown), [sorted, shown]);
  const keys = useList({ count: list.length, open: (i) => show(list[i]), key: 'records' });
  const order = (name, word) => html`<button aria-pressed=${latest === (name === 'latest')} onClick=${() => setQuery({ sort: name })}>${word}</button>`;
  return html`<section aria-label="Records"><header class="section"><h2 class="hidden">Records</h2><span class="segments small" role="group" aria-label="Order">${order('', 'Failures first')}${order('latest', 'Latest first')}</span>
      <span class="faint">${rows.length < total ? `the latest ${count(rows.length)} of ${count(total)}` : many(total, 'record')}</span></header>
    <div class="scroll"><table class="ledger"><thead><tr><th>Task</th><th>Outcome</th><th>Agent</th><th class="number">Took</th><th class="number">Cost</th><th>Began</th></tr></thead>
    <tbody ...${keys.list}>${list.map((r, i) => html`<${Line} key=${`${r.run} ${r.bead} ${r.attempt}`} r=${r} here=${r === at} item=${keys.item(i)} />`)}</tbody></table></div>
    ${shown < rows.length && html`<p><button onClick=${() => setShown(shown + page)}>Show ${Math.min(page, rows.length - shown)} more</button></p>`}</section>`;
}

function show(r) {
  setQuery({ bead: r.bead, nth: String(r.attempt) });
  scrollTo(0, 0);
}

function Line({ r, here, item }) {
  const open = (e) => { e.preventDefault(); show(r); };
  const why = text(r.reason);
  return html`<tr ...${item} class=${`${here ? 'here' : ''} ${why ? 'has-why' : ''}`}><th scope="row"><a tabindex="-1" href=${`#/records?bead=${encodeURIComponent(r.bead)}&nth=${r.attempt}`} onClick=${open}>${text(r.bead)}</a>
        ${r.attempt > 1 && html` <span class="faint">attempt ${r.attempt}</span>`}${r.template && r.template !== 'custom' && html` <span class="faint">${text(r.template)}</span>`}</th>
      <td data-label="Outcome"><${Outcome} status=${r.status} /></td>
      <td data-label="Agent">${text(r.agent)}${r.model && r.model !== 'default' && html` <span class="faint">${text(r.model)}</span>`}</td>
      <td data-label="Took" class="number">${Number.isFinite(r.duration_seconds) ? span(r.duration_seconds * 1000) : '–'}</td>
      <td data-label="Cost" class="number">${money(r.cost_usd) || '–'}</td>
      <td data-label="Began"><${Ago} time=${r.started_at} /></td></tr>
    ${why && html`<tr class=${`why ${here ? 'here' : ''}`} onClick=${() => show(r)}><td colspan="6"><${Reason} of=${why} /></td></tr>`}`;
}
