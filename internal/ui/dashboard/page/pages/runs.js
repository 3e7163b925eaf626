// The list of all runs on the server, the latest first.
import { runs } from '../core/fleet.js';
import { query, setQuery } from '../core/route.js';
import { at } from '../core/time.js';
import { html } from '../core/view.js';
import { Empty } from '../parts/status.js';
import { RunCard } from './fleet.js';

export function Page() {
  const wanted = query('status');
  const text = query('filter').toLowerCase();
  const all = runs.all().sort((a, b) => at(b.created) - at(a.created));
  const found = all.filter((r) => !text || `${r.id} ${r.name} ${r.project}`.toLowerCase().includes(text));
  const shown = found.filter((r) => !wanted || r.status === wanted);
  return html`<header class="section"><h1>Runs</h1>
    <div class="counters" role="group" aria-label="Show only">${['running', 'complete', 'failed', 'cancelled'].map((s) => html`<button key=${s} class="counter" aria-pressed=${wanted === s} onClick=${() => setQuery({ status: wanted === s ? '' : s })}><b>${found.filter((r) => r.status === s).length}</b> ${s}</button>`)}</div>
    <input type="search" data-filter placeholder="Filter  /" aria-label="Filter runs" value=${query('filter')} onInput=${(e) => setQuery({ filter: e.currentTarget.value })} /></header>
    ${shown.length ? html`<div class="cards">${shown.map((r) => html`<${RunCard} key=${r.id} r=${r} />`)}</div>`
    : html`<${Empty} title=${all.length ? 'No run is like that.' : 'Nothing has run yet.'} />`}`;
}
