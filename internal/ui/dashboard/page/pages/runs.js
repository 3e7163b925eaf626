// The list of all runs on the server, the latest first.
import { questions, runs } from '../core/fleet.js';
import { hasPage } from '../core/places.js';
import { link, query, setQuery } from '../core/route.js';
import { at } from '../core/time.js';
import { html, memo } from '../core/view.js';
import { count, final, money, sign, text } from '../core/words.js';
import { useList } from '../parts/list.js';
import { Ago, Empty, Lasting, Progress, Status } from '../parts/status.js';

const most = 200; // as many runs as the page's state keeps

const projectOf = (r) => text(r.project).split('/').filter(Boolean).pop() ?? '';

export function Page() {
  const wanted = query('status');
  const project = query('project');
  const words = query('filter').toLowerCase().split(/\s+/).filter(Boolean);
  const all = runs.all().sort((a, b) => at(b.created) - at(a.created));
  const found = all.filter((r) => (!project || projectOf(r) === project) && words.every((w) => `${r.id} ${r.name} ${r.project} ${r.source_file}`.toLowerCase().includes(w)));
  const shown = found.filter((r) => !wanted || r.status === wanted);
  const projects = [...new Set(all.map(projectOf).filter(Boolean))].sort();
  if (!all.length) return html`<header class="section"><h1>Runs</h1></header><${None} />`;
  return html`<header class="section"><h1>Runs</h1>
    <div class="counters" role="group" aria-label="Show only">${['running', 'complete', 'failed', 'cancelled'].map((s) => html`<button key=${s} class=${`counter k-${s}`} aria-pressed=${wanted === s} onClick=${() => setQuery({ status: wanted === s ? '' : s })}><span class="sign" aria-hidden="true">${sign(s)}</span> <b>${found.filter((r) => r.status === s).length}</b> ${s}</button>`)}</div>
    <span class="space"></span>
    ${(projects.length > 1 || project) && html`<select aria-label="Project" value=${project} onChange=${(e) => setQuery({ project: e.currentTarget.value })}><option value="">All projects</option>${projects.map((p) => html`<option key=${p} value=${p}>${p}</option>`)}</select>`}
    <input type="search" data-filter placeholder="Filter  /" aria-label="Filter runs" value=${query('filter')} onInput=${(e) => setQuery({ filter: e.currentTarget.value })} /></header>
    ${shown.length ? html`<${List} shown=${shown} />`
    : html`<${Empty} title="No run is like that."><button onClick=${() => setQuery({ status: '', filter: '', project: '' })}>Show all runs</button><//>`}
    ${all.length >= most && html`<p class="faint">These are the latest ${most} runs. <a href="#/search">Search</a> finds older ones, and <code>gaffer runs</code> lists them.</p>`}`;
}

const None = () => html`<${Empty} title="Nothing has run yet.">
  ${hasPage('new') && html`<p><a class="button" href="#/new">New run</a></p>`}
  <p>In a project: <code>gaffer run plan.yaml --server ${location.origin}</code></p><//>`;

function List({ shown }) {
  const { list, item } = useList({ count: shown.length, key: 'runs' });
  const asked = new Map();
  for (const q of questions.all()) if (q.run) asked.set(q.run, (asked.get(q.run) ?? 0) + 1);
  return html`<div class="runlist">
    <div class="r-row heads" aria-hidden="true"><span>Status</span><span>Run</span><span>Tasks</span><span class="n">Time</span><span class="n">Cost</span><span>Project</span><span class="n">Started</span></div>
    <ul aria-label="Runs" ...${list}>${shown.map((r, i) => html`<li key=${r.id}><a class="r-row" href=${link('runs', r.id)} ...${item(i)}><${Run} r=${r} asked=${asked.get(r.id) ?? 0} /></a></li>`)}</ul></div>`;
}

const Run = memo(({ r, asked }) => {
  const { complete = 0, total = 0, failed = 0 } = r.counts ?? {};
  return html`<span class="c-status"><${Status} of=${text(r.status)} /></span>
    <span class="c-name"><strong><bdi>${text(r.name) || r.id}</bdi></strong>
      ${asked > 0 && !final(r.status) && html`<${Status} of="waiting" word=${asked === 1 ? 'asks' : `${asked} ask`} />`}
      ${r.owner?.gone && !final(r.status) && html`<${Status} of="offline" word="no process" />`}
      <code class="faint">${r.id}</code></span>
    <span class="c-tasks"><${Progress} counts=${r.counts} /><span class="of">${count(complete)} of ${count(total)}${failed > 0 && html`<span class="bad">, ${count(failed)} failed</span>`}</span></span>
    <span class="c-time n"><${Lasting} from=${r.created} to=${r.ended} /></span>
    <span class="c-cost n">${money(r.spent?.usd)}</span>
    <span class="c-project faint"><bdi>${projectOf(r)}</bdi></span>
    <span class="c-began faint n"><${Ago} time=${r.created} /></span>`;
});
