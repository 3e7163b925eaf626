// Workers: the machines that run agents, and other programs that take tasks of channels.
import { useTitle } from '../core/title.js';
import { agents, online, runs, tasks } from '../core/fleet.js';
import { link, query, setQuery } from '../core/route.js';
import { tick } from '../core/time.js';
import { count, many, own, sign, text } from '../core/words.js';
import { html, memo, useState } from '../core/view.js';
import { useList } from '../parts/list.js';
import { Ago, Empty, Lasting, Status } from '../parts/status.js';
import { wordsOf } from '../run/task.js';
import { isWorker, liveAgents, metaOf, number, questionText, wordOf } from '../fleet/agents.js';

// Waiting, running, idle, offline; then by name. So rows move only when a status changes.
const rank = (a) => (!online(a) ? 3 : a.claude_status === 'waiting' ? 0 : a.claude_status === 'running' ? 1 : 2);
const byRank = (a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

const fits = {
  online, offline: (a) => !online(a), waiting: (a) => a.claude_status === 'waiting' && online(a),
  running: (a) => a.claude_status === 'running' && online(a), idle: (a) => a.claude_status === 'idle' && online(a),
};

export function Page() {
  useTitle('Workers');
  tick.value; // a worker without a heartbeat goes offline without a message
  const all = agents.all().filter((a) => metaOf(a).by_hand !== true).sort(byRank);
  const wanted = own(fits, query('status')) ? query('status') : '';
  const words = wordsOf(query('filter'));
  const found = all.filter((a) => words.every((w) => `${a.name} ${text(metaOf(a).host)} ${text(metaOf(a).labels)} ${text(metaOf(a).version)}`.toLowerCase().includes(w)));
  const shown = found.filter(own(fits, wanted) ?? (() => true));
  const at = Map.groupBy(liveAgents().filter((a) => a.kind === 'attempt'), (a) => a.worker);
  return html`<header class="section workers-head"><h1>Workers</h1>
      ${all.length > 0 && html`<div class="counters" role="group" aria-label="Show only">
        ${Object.keys(fits).map((name) => html`<button key=${name} class="counter" aria-pressed=${wanted === name} onClick=${() => setQuery({ status: wanted === name ? '' : name })}><span class="sign" aria-hidden="true">${sign(name)}</span> <b>${count(found.filter(fits[name]).length)}</b> ${name}</button>`)}
      </div><span class="space"></span>
      <input type="search" data-filter placeholder="Filter  /" aria-label="Filter workers" value=${query('filter')} onInput=${(e) => setQuery({ filter: e.currentTarget.value })} />`}
    </header>
    ${all.length === 0
    ? html`<${Empty} title="No worker has been heard of."><p>On a machine that should work: <code>gaffer worker --server ${location.origin}</code></p><p>Runs that you start on this machine need none.</p><//>`
    : shown.length ? html`<${Table} list=${shown} at=${at} />` : html`<${Empty} title="No worker matches."><p><a href="#/workers">All ${many(all.length, 'worker')}</a></p><//>`}`;
}

function Table({ list, at }) {
  const [open, setOpen] = useState(() => new Set());
  const flip = (id) => { const next = new Set(open); next.has(id) ? next.delete(id) : next.add(id); setOpen(next); };
  const { list: keys, item } = useList({ count: list.length, open: (i) => { if (at.get(list[i].id)) flip(list[i].id); }, key: 'workers' });
  return html`<div class="scroll"><table class="workers">
    <thead><tr><th scope="col">Worker</th><th scope="col">Status</th><th scope="col">Agents</th><th scope="col">Slots</th><th scope="col">Labels</th><th scope="col">Version</th><th scope="col">Last seen</th></tr></thead>
    <tbody ...${keys}>${list.map((a, i) => html`<${Worker} key=${a.id} a=${a} on=${online(a)} live=${at.get(a.id)} item=${item(i)} open=${open.has(a.id)} flip=${flip} />`)}</tbody></table></div>`;
}

function Worker({ a, on, live, item, open, flip }) {
  const meta = metaOf(a);
  const source = typeof meta.source === 'string' ? meta.source : 'reported by the worker';
  return html`<tr class=${on ? '' : 'off'} ...${item}>
    <th scope="row"><span class="name">${live ? html`<button class="quiet fold" aria-expanded=${open} onClick=${() => flip(a.id)} aria-label=${`${open ? 'Hide' : 'Show'} the agents of ${a.name}`}><span aria-hidden="true">${open ? '▾' : '▸'}</span></button>` : html`<span class="fold" aria-hidden="true"></span>`}${a.name}</span>${meta.host && meta.host !== a.name && html` <small class="faint">${text(meta.host)}</small>`}</th>
    <td data-label="Status"><${Status} of=${on ? 'online' : 'offline'} title="Computed from its last heartbeat" /></td>
    <td data-label="Agents"><${Status} of=${a.claude_status || 'idle'} word=${a.claude_status || 'unknown'} title=${source} /> <span class="faint said">${!on && a.claude_status_at ? html`last known, <${Ago} time=${a.claude_status_at} />` : live ? many(live.length, 'agent') : isWorker(a) ? '' : html`<${TaskOf} id=${a.current_task_id} />`}</span></td>
    <td data-label="Slots"><${Slots} meta=${meta} /></td>
    <td data-label="Labels"><${Labels} meta=${meta} /></td>
    <td data-label="Version">${text(meta.version)}</td>
    <td data-label="Last seen"><${Ago} time=${a.last_seen} /></td>
  </tr>
  ${open && live && live.map((one) => html`<${AgentOn} key=${one.id} row=${one} />`)}`;
}

function Slots({ meta }) {
  const [held, slots] = [number(meta.held), number(meta.slots)];
  if (!slots) return null;
  return html`<span class="slots" role="img" aria-label=${`${held} of ${many(slots, 'slot')} used`}><span class="number">${held}/${slots}</span><span class="bar"><span style=${{ width: `${Math.min(100, held * 100 / slots)}%` }}></span></span></span>`;
}

// The labels that users have given. Labels with @ name the worker itself.
function Labels({ meta }) {
  const list = (Array.isArray(meta.labels) ? meta.labels : meta.labels ? [meta.labels] : []).map(text).filter((l) => !l.startsWith('@'));
  return list.map((l) => html`<span key=${l} class="label">${l}</span> `);
}

// The task of a channel that another program works on, or of a run, named RUN.TASK or RUN/TASK.
function TaskOf({ id }) {
  if (!id) return 'no task';
  const task = tasks.get(id);
  if (task) return html`<span title=${id}>${task.title}</span>`;
  const [run, ...rest] = id.split(/[./]/);
  if (!runs.get(run) || !rest.length) return html`<code>${id}</code>`;
  const name = id.slice(run.length + 1);
  return html`<a href=${link('runs', run, 'tasks', name)} title=${id}>${runs.get(run).name || run}/${name}</a>`;
}

const AgentOn = memo(({ row }) => html`<tr class="agent-on">
  <th scope="row"><a href=${row.href}><bdi>${row.name}</bdi></a> <small class="faint">${row.program}${row.model && ` · ${row.model}`}</small></th>
  <td data-label="State"><${Status} of=${row.state} word=${wordOf(row.state)} /></td>
  <td data-label="Now" colspan="3" class="now"><bdi>${row.question ? questionText(row.question) : row.doing}</bdi></td>
  <td data-label="Run"><a href=${link('runs', row.run)}><bdi>${row.runName}</bdi></a></td>
  <td data-label="Time"><${Lasting} from=${row.started} /></td>
</tr>`);
