// Schedules: when runs start by themselves, and what became of the last times.
import { get, path, send } from '../core/api.js';
import { self } from '../core/fleet.js';
import { link } from '../core/route.js';
import { useTitle } from '../core/title.js';
import { html, signal, useEffect, useMemo, useState } from '../core/view.js';
import { many } from '../core/words.js';
import { Ago, Empty, Status, Until, Wrong } from '../parts/status.js';
import { toast } from '../parts/toast.js';

const often = 5_000; // milliseconds between requests while the page is shown

class Schedules {
  constructor() {
    this.list = signal(null);
    this.error = signal('');
  }

  async load() {
    try {
      this.list.value = (await get('/v1/schedules')).schedules;
      this.error.value = '';
    } catch (e) {
      this.error.value = e.message;
    }
  }

  open() {
    this.load();
    const timer = setInterval(() => this.load(), often);
    return () => clearInterval(timer);
  }
}

export function Page() {
  useTitle('Schedules');
  const schedules = useMemo(() => new Schedules(), []);
  useEffect(() => schedules.open(), [schedules]);
  const list = schedules.list.value;
  return html`<header class="section"><h1>Schedules</h1></header>
    ${schedules.error.value && html`<${Wrong} message=${`The schedules could not be loaded: ${schedules.error.value}`}><p><button onClick=${() => schedules.load()}>Try again</button></p><//>`}
    ${!list && !schedules.error.value && html`<p class="starting">Loading…</p>`}
    ${list && list.length === 0 && html`<${Empty} title="There are no schedules."><p>In a project: <code>gaffer schedule add "0 2 * * 1-5" plan.yaml</code></p><//>`}
    ${list && list.length > 0 && html`<div class="scroll"><table class="schedules">
      <thead><tr><th scope="col">Schedule</th><th scope="col">Times</th><th scope="col">Next</th><th scope="col">Last</th><th scope="col">State</th><th scope="col"><span class="hidden">Actions</span></th></tr></thead>
      <tbody>${list.map((s) => html`<${Schedule} key=${s.id} s=${s} load=${() => schedules.load()} />`)}</tbody></table></div>`}`;
}

function Schedule({ s, load }) {
  const [busy, setBusy] = useState(false);
  const may = self.value.role !== 'viewer' && self.value.role !== 'worker';
  const act = (what, done) => async () => {
    setBusy(true);
    try {
      const answer = await send(path`/v1/schedules/${s.name}/${what}`, {});
      toast(answer.warning || done, { mood: answer.warning ? 'bad' : 'good' });
    } catch (e) {
      toast(e.message, { mood: 'bad' });
    }
    await load();
    setBusy(false);
  };
  const last = s.fires[s.fires.length - 1];
  return html`<tr>
    <th scope="row">${s.name} <small class="faint" title=${s.project}>${s.project.split('/').pop()} on ${s.machine}</small></th>
    <td data-label="Times"><code>${s.cron}</code> <small class="faint">${s.zone}</small></td>
    <td data-label="Next">${s.next.length > 0 && html`<${Until} time=${s.next[0]} />`}</td>
    <td data-label="Last" class="last">${last && html`<${Fire} f=${last} />`}</td>
    <td data-label="State">${s.exported_to && s.state === 'active' ? `started by ${s.exported_to}` : s.state}</td>
    <td class="actions">${may && html`<button disabled=${busy} onClick=${act('run', `A run of ${s.name} has started.`)} aria-label=${`Run now: ${s.name}`}>Run now</button>
      ${s.state === 'paused'
    ? html`<button disabled=${busy} onClick=${act('resume', `${s.name} continues.`)} aria-label=${`Resume ${s.name}`}>Resume</button>`
    : html`<button disabled=${busy} onClick=${act('pause', `${s.name} is paused.`)} aria-label=${`Pause ${s.name}`}>Pause</button>`}`}</td>
  </tr>`;
}

// What became of a planned time.
function Fire({ f }) {
  const result = f.run_status || (f.status === 'failed' ? 'failed' : '');
  const word = f.status === 'failed' ? 'not started' : f.run_status || f.status;
  return html`${result ? html`<${Status} of=${result} word=${word} />` : word} ${f.run_status ? html`<a href=${link('runs', f.run)}><${Ago} time=${f.planned} /></a>` : html`<${Ago} time=${f.planned} />`}
    ${f.count > 1 && html` <small class="faint">for ${many(f.count, 'time')}</small>`}${f.why && html`<div class="why faint">${f.why}</div>`}`;
}
