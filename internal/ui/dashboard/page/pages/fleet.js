// The start page: what needs the user, and all agents that work now.
import { useTitle } from '../core/title.js';
import { agents, runs, self, tasks } from '../core/fleet.js';
import { hasPage } from '../core/places.js';
import { link } from '../core/route.js';
import { at, tick } from '../core/time.js';
import { count, final, kind, many, sign } from '../core/words.js';
import { html, memo, signal, useMemo, useRef } from '../core/view.js';
import { Questions } from '../parts/question.js';
import { Ago, Empty, Status } from '../parts/status.js';
import { wordsOf } from '../run/task.js';
import { liveAgents } from '../fleet/agents.js';
import { Attention, Lanes } from '../fleet/attention.js';
import { AgentList } from '../fleet/list.js';
import { countsOf, grouped, Order, select } from '../fleet/order.js';
import { settings, Toolbar } from '../fleet/toolbar.js';

const small = matchMedia('(max-width: 860px)');
const narrow = signal(small.matches); // as narrow as a phone
small.addEventListener('change', () => { narrow.value = small.matches; });

export function Fleet() {
  useTitle('Fleet');
  return html`<h1 class="hidden">Fleet</h1>
    <${Questions} most=${3} />
    <${Lanes} />
    <${Attention} />
    <${Runs} />
    <${Queue} />
    <${Agents} />`;
}

function Agents() {
  tick.value; // a worker without a heartbeat goes offline without a message
  const order = useRef(null);
  order.current ??= new Order();
  const { state, filter, group, sort, shape } = settings();
  const all = liveAgents();
  const words = wordsOf(filter);
  const found = select(all, { state: '', words });
  const shown = useSame(order.current.sorted(select(found, { state, words: [] }), sort));
  const groups = useMemo(() => grouped(shown, group, sort), [shown, group, sort]);
  if (!all.length) return html`<${Start} />`;
  const cards = narrow.value || shape === 'cards';
  return html`<section aria-label="Agents"><${Toolbar} counts=${countsOf(found)} total=${all.length} narrow=${narrow.value} />
    ${shown.length ? html`<${AgentList} key=${cards} groups=${groups} cards=${cards} />`
    : html`<${Empty} title="No agent matches."><p><a href="#/">All ${many(all.length, 'agent')}</a></p><//>`}</section>`;
}

// useSame returns the list of the last call if it has the same items.
function useSame(list) {
  const last = useRef(list);
  if (last.current.length !== list.length || last.current.some((a, i) => a !== list[i])) last.current = list;
  return last.current;
}

// What to do when no agent works.
function Start() {
  const may = hasPage('new') && self.value.role !== 'viewer';
  return html`<section aria-label="Agents"><div class="empty start"><p class="title">${runs.size ? 'No agent works now.' : 'Nothing has run yet.'}</p>
    <dl>
      ${may && html`<div><dt><a class="button primary" href="#/new">New run</a></dt><dd>Give agents prompts or a plan, here. Key: <kbd>n</kbd></dd></div>`}
      <div><dt><code>gaffer run plan.yaml --server ${location.origin}</code></dt><dd>Runs the tasks of a plan, from a terminal.</dd></div>
      <div><dt><code>gaffer init</code></dt><dd>Sets hooks, so that agents which you start by hand are shown here.</dd></div>
      ${!agents.size && html`<div><dt><code>gaffer worker --server ${location.origin}</code></dt><dd>Lets another machine run agents for this server.</dd></div>`}
    </dl></div></section>`;
}

const most = 8; // runs in the line

// The runs that have not ended and a few that ended last, in one line.
function Runs() {
  const all = runs.all();
  if (!all.length) return null;
  const active = all.filter((r) => !final(r.status)).sort((a, b) => at(b.created) - at(a.created));
  const ended = all.filter((r) => final(r.status)).sort((a, b) => at(b.ended) - at(a.ended)).slice(0, 3);
  return html`<section aria-label="Runs" class="run-line"><h2>Runs</h2>
    <ul>${[...active.slice(0, most), ...(active.length < most ? ended : [])].map((r) => html`<${RunChip} key=${r.id} r=${r} />`)}</ul>
    <a href="#/runs">${active.length > most ? `All runs, ${count(active.length - most)} more active` : 'All runs'}</a></section>`;
}

const RunChip = memo(({ r }) => html`<li><a class=${`chip k-${kind(r.status)}`} href=${link('runs', r.id)} title=${`${r.status}: ${r.counts?.complete ?? 0} of ${many(r.counts?.total ?? 0, 'task')} complete${r.counts?.failed ? `, ${r.counts.failed} failed` : ''}`}>
  <span class="sign" aria-hidden="true">${sign(r.status)}</span><b><bdi>${r.name || r.id}</bdi></b><span class="hidden">, ${r.status},</span><span class="number">${final(r.status) ? r.status : `${count(r.counts?.complete ?? 0)}/${count(r.counts?.total ?? 0)}`}</span></a></li>`);

// Tasks in the channels of the coordinator protocol.
function Queue() {
  const all = tasks.all();
  const open = all.filter((t) => t.status === 'queued' || t.status === 'in_progress').sort((a, b) => (a.status > b.status ? 1 : a.status < b.status ? -1 : at(a.created_at) - at(b.created_at)));
  if (!open.length) return null;
  return html`<details class="queue"><summary>Tasks of channels <span class="faint number">${count(open.length)} open</span></summary>
    <div class="scroll"><table><thead><tr><th scope="col">Task</th><th scope="col">Status</th><th scope="col">Agent</th><th scope="col">Since</th></tr></thead>
    <tbody>${open.slice(0, 100).map((t) => html`<tr key=${t.id}><th scope="row">${t.title}</th><td><${Status} of=${t.status} word=${t.status.replace('_', ' ')} /></td>
      <td>${agents.get(t.assigned_agent_id)?.name ?? t.assigned_agent_id}</td><td><${Ago} time=${t.claimed_at ?? t.created_at} /></td></tr>`)}</tbody></table></div>
    ${open.length > 100 && html`<p class="faint">and ${count(open.length - 100)} more</p>`}</details>`;
}
