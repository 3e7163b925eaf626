// The start page: open questions, workers, runs and queued tasks.
import { agents, lanes, online, runs, tasks } from '../core/fleet.js';
import { link, query, setQuery } from '../core/route.js';
import { at, now, tick } from '../core/time.js';
import { count, final, many, money, own, text } from '../core/words.js';
import { html, memo } from '../core/view.js';
import { Questions } from '../parts/question.js';
import { Ago, Empty, Lasting, Progress, Status, Until } from '../parts/status.js';

export function Fleet() {
  return html`<h1 class="hidden">Fleet</h1>
    <${Questions} />
    <${Lanes} />
    <${Workers} />
    <${Running} />
    <${Queue} />`;
}

function Lanes() {
  tick.value;
  const paused = lanes.all().filter((l) => at(l.until) > now());
  if (!paused.length) return null;
  return html`<section aria-label="Paused lanes" class="lanes">${paused.map((l) => html`<p key=${l.name}>
    <${Status} of="paused" word=${`${l.name} paused`} /> goes on <${Until} time=${l.until} /> <span class="faint">${l.reason}</span></p>`)}</section>`;
}

// Sort order of workers: waiting, running, idle, offline; then by name. So rows move
// only when a status changes.
const rank = (a) => (!online(a) ? 3 : a.claude_status === 'waiting' ? 0 : a.claude_status === 'running' ? 1 : 2);

function Workers() {
  tick.value;
  const all = agents.all();
  const wanted = query('workers');
  const fits = { online, offline: (a) => !online(a), waiting: (a) => a.claude_status === 'waiting' && online(a), running: (a) => a.claude_status === 'running' && online(a), idle: (a) => a.claude_status === 'idle' && online(a) };
  const shown = all.filter(own(fits, wanted) ?? (() => true)).sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
  return html`<section aria-label="Workers">
    <header class="section"><h2>Workers</h2>
      ${all.length > 0 && html`<div class="counters" role="group" aria-label="Show only">
        ${Object.keys(fits).map((name) => html`<button key=${name} class="counter" aria-pressed=${wanted === name} onClick=${() => setQuery({ workers: wanted === name ? '' : name })}><b>${all.filter(fits[name]).length}</b> ${name}</button>`)}
      </div>`}
    </header>
    ${all.length === 0
    ? html`<${Empty} title="No worker has been heard of."><p>On a machine that should work: <code>gaffer worker --server ${location.origin}</code></p><//>`
    : html`<div class="scroll"><table class="workers">
      <thead><tr><th>Name</th><th>Worker</th><th>Agent</th><th>Task</th><th>Last seen</th><th>Slots</th><th>Labels</th><th>Version</th></tr></thead>
      <tbody>${shown.map((a) => html`<${Worker} key=${a.id} a=${a} on=${online(a)} />`)}</tbody></table></div>`}
  </section>`;
}

const Worker = memo(({ a, on }) => {
  const meta = a.meta && typeof a.meta === 'object' ? a.meta : {};
  const source = typeof meta.source === 'string' ? meta.source : 'reported by the worker';
  const labels = Array.isArray(meta.labels) ? meta.labels.map(text).filter((l) => !l.startsWith('@')).join(', ') : text(meta.labels);
  return html`<tr class=${on ? '' : 'off'}>
    <th scope="row">${a.name}${meta.host && meta.host !== a.name && html`<span class="faint"> ${text(meta.host)}</span>`}</th>
    <td data-label="Worker"><${Status} of=${on ? 'online' : 'offline'} title="Computed from when it was last heard of" /></td>
    <td data-label="Agent"><${Status} of=${a.claude_status || 'idle'} word=${a.claude_status || 'unknown'} title=${source} /> ${a.claude_status_at && html`<span class="faint said" title=${source}>${!on && 'last known, '}<${Ago} time=${a.claude_status_at} /></span>`}</td>
    <td data-label="Task">${meta.by_hand ? html`<${ByHand} meta=${meta} />` : html`<${TaskOf} id=${a.current_task_id} />`}</td>
    <td data-label="Last seen"><${Ago} time=${a.last_seen} /></td>
    <td data-label="Slots">${Number.isFinite(meta.slots) ? `${Number.isFinite(meta.held) ? meta.held : 0}/${meta.slots}` : ''}</td>
    <td data-label="Labels">${labels}</td>
    <td data-label="Version">${text(meta.version)}</td>
  </tr>`;
});

// For an agent that a user started by hand: what it waits for, or its folder.
function ByHand({ meta }) {
  const dir = text(meta.dir);
  const says = text(meta.for || meta.error || meta.loop);
  return html`<span class="faint" title=${dir}>by hand${dir && ` in ${dir.split('/').pop()}`}</span>${says && html` ${says}`}`;
}

// The task of a worker. Tasks of runs are named RUN.TASK or RUN/TASK, tasks of channels
// by their id.
function TaskOf({ id }) {
  if (!id) return html`<span class="faint">none</span>`;
  const task = tasks.get(id);
  if (task) return html`<span title=${id}>${task.title}</span>`;
  const [run, ...rest] = id.split(/[./]/);
  if (!runs.get(run) || !rest.length) return html`<code>${id}</code>`;
  const name = id.slice(run.length + 1);
  return html`<a href=${link('runs', run, 'tasks', name)} title=${id}>${runs.get(run).name || run}/${name}</a>`;
}

function Running() {
  const all = runs.all();
  const active = all.filter((r) => !final(r.status)).sort((a, b) => at(b.created) - at(a.created));
  const ended = all.filter((r) => final(r.status)).sort((a, b) => at(b.ended) - at(a.ended)).slice(0, Math.max(0, 8 - active.length));
  return html`<section aria-label="Runs"><header class="section"><h2>Runs</h2><a href="#/runs">All runs</a></header>
    ${active.length + ended.length === 0
    ? html`<${Empty} title="Nothing has run yet."><p><code>gaffer run plan.yaml --server ${location.origin}</code></p><//>`
    : html`<div class="cards">${[...active, ...ended].map((r) => html`<${RunCard} key=${r.id} r=${r} />`)}</div>`}</section>`;
}

export const RunCard = memo(({ r }) => html`<a class="card" href=${link('runs', r.id)}>
  <span class="line"><strong>${r.name || r.id}</strong><${Status} of=${r.status} /></span>
  <${Progress} counts=${r.counts} />
  <span class="line faint"><span>${r.counts?.complete ?? 0} of ${many(r.counts?.total ?? 0, 'task')}${r.counts?.failed ? `, ${r.counts.failed} failed` : ''}</span>
    <span><${Lasting} from=${r.created} to=${r.ended} />${r.spent?.usd ? ` · ${money(r.spent.usd)}` : ''}</span></span>
  <span class="line faint"><code>${r.id}</code><span>${r.stopping || r.project?.split('/').pop()}</span></span>
</a>`);

// Tasks in the channels of the coordinator protocol.
function Queue() {
  const all = tasks.all();
  if (!all.length) return null;
  const open = all.filter((t) => t.status === 'queued' || t.status === 'in_progress').sort((a, b) => (a.status > b.status ? 1 : a.status < b.status ? -1 : at(a.created_at) - at(b.created_at)));
  return html`<section aria-label="Channel tasks"><header class="section"><h2>Tasks of channels</h2><span class="faint">${count(open.length)} open</span></header>
    <div class="scroll"><table><thead><tr><th>Task</th><th>Status</th><th>Agent</th><th>Since</th></tr></thead>
    <tbody>${open.slice(0, 100).map((t) => html`<tr key=${t.id}><th scope="row">${t.title}</th><td><${Status} of=${t.status} word=${t.status.replace('_', ' ')} /></td>
      <td>${agents.get(t.assigned_agent_id)?.name ?? t.assigned_agent_id}</td><td><${Ago} time=${t.claimed_at ?? t.created_at} /></td></tr>`)}</tbody></table></div>
    ${open.length > 100 && html`<p class="faint">and ${count(open.length - 100)} more</p>`}</section>`;
}
