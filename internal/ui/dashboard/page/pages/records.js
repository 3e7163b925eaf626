// The report on the records of attempts, and the list of the records.
import { runs } from '../core/fleet.js';
import { query, setQuery } from '../core/route.js';
import { exact, span } from '../core/time.js';
import { count, money } from '../core/words.js';
import { html, memo, useMemo, useState } from '../core/view.js';
import { Ago, Empty, Wrong } from '../parts/status.js';
import { Advice, Charts, Tiles } from '../records/report.js';
import { Outcome, Record } from '../records/record.js';
import { useReport } from '../records/source.js';

const filters = ['since', 'agent', 'model', 'template', 'project'];
const spans = [['', 'All time'], ['24h', 'The last 24 hours'], ['7d', 'The last 7 days'], ['30d', 'The last 30 days'], ['90d', 'The last 90 days']];

export function Page() {
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
      ${report.statistics?.total_runs > 0 ? html`<${Tiles} s=${report.statistics} /><${Advice} list=${report.recommendation_details} /><${Charts} s=${report.statistics} /><${Records} rows=${rows} total=${report.statistics.total_runs} at=${bead} />`
    : html`<${Empty} title=${asked.size ? 'No record is like that.' : 'Nothing was recorded yet.'}>${asked.size ? html`<button onClick=${() => setQuery(Object.fromEntries(filters.map((n) => [n, ''])))}>Show all records</button>` : html`<p>Each attempt of a run becomes a record.</p>`}<//>`}
      <p class="faint asof">As of ${exact(report.generated_at)}.</p>`}`;
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
    ${reports.busy.value && html`<span class="faint" role="status">Counting…</span>`}</div>`;
}

function Unmatched({ list }) {
  if (!list?.length) return null;
  return html`${list.map((u, i) => html`<p key=${i} class="faint">No record has the ${String(u.field)} “${String(u.name)}”${u.seen?.length > 0 && `; there are ${u.seen.slice(0, 10).join(', ')}`}.</p>`)}`;
}

const page = 100;

function Records({ rows, total, at }) {
  const [shown, setShown] = useState(page);
  const list = useMemo(() => rows.slice(0, shown), [rows, shown]);
  return html`<section aria-label="Records"><header class="section"><h2>Records</h2><span class="faint">${rows.length < total ? `the latest ${count(rows.length)} of ${count(total)}` : count(total)}</span></header>
    <div class="scroll"><table class="ledger"><thead><tr><th>Bead</th><th>Outcome</th><th>Agent</th><th>Template</th><th>Attempt</th><th>Took</th><th>Cost</th><th>Why</th><th>Began</th></tr></thead>
    <tbody>${list.map((r) => html`<${Line} key=${`${r.run} ${r.bead} ${r.attempt}`} r=${r} here=${r.bead === at} />`)}</tbody></table></div>
    ${shown < rows.length && html`<p><button onClick=${() => setShown(shown + page)}>Show ${Math.min(page, rows.length - shown)} more</button></p>`}</section>`;
}

const Line = memo(({ r, here }) => {
  const open = (e) => { e.preventDefault(); setQuery({ bead: r.bead, nth: String(r.attempt) }); scrollTo(0, 0); };
  return html`<tr class=${here ? 'here' : ''}><th scope="row"><a href=${`#/records?bead=${encodeURIComponent(r.bead)}&nth=${r.attempt}`} onClick=${open}>${String(r.bead)}</a></th>
    <td data-label="Outcome"><${Outcome} status=${r.status} /></td>
    <td data-label="Agent">${String(r.agent ?? '')}${r.model && r.model !== 'default' && html` <span class="faint">${String(r.model)}</span>`}</td>
    <td data-label="Template">${String(r.template ?? '')}</td>
    <td data-label="Attempt">${r.attempt}</td>
    <td data-label="Took">${Number.isFinite(r.duration_seconds) ? span(r.duration_seconds * 1000) : ''}</td>
    <td data-label="Cost">${money(r.cost_usd)}</td>
    <td data-label="Why" class="why">${String(r.reason ?? '')}</td>
    <td data-label="Began"><${Ago} time=${r.started_at} /></td></tr>`;
});
