// The controls above the list of agents: counters that filter, text, groups, order, shape
// and saved views. All of them are in the address.
import { useCommands } from '../core/commands.js';
import { useKeys } from '../core/keys.js';
import { go, query, route, setQuery } from '../core/route.js';
import { html } from '../core/view.js';
import { count, own, sign } from '../core/words.js';
import { confirm } from '../parts/dialog.js';
import { Menu } from '../parts/menu.js';
import { toast } from '../parts/toast.js';
import { states, wordOf } from './agents.js';
import { groupings, sorts } from './order.js';
import { deleteView, saveView, views } from './views.js';

/** What the address says about the list. Names that do not exist count as not given. */
export const settings = () => ({
  state: states.includes(query('status')) ? query('status') : '',
  filter: query('filter'),
  group: own(groupings, query('group')) ? query('group') : 'run',
  sort: own(sorts, query('sort')) ? query('sort') : 'needs',
  shape: query('view') === 'cards' ? 'cards' : 'rows',
});

// A value of the address, or empty for the default, so that the address stays short.
const set = (name, value, otherwise) => setQuery({ [name]: value === otherwise ? '' : value });
const setGroup = (value) => set('group', value, 'run');
const setSort = (value) => set('sort', value, 'needs');
const setShape = (value) => set('view', value, 'rows');

/** @param {{counts: Record<string, number>, total: number, narrow: boolean}} props */
export function Toolbar({ counts, total, narrow }) {
  const { state, filter, group, sort, shape } = settings();
  useKeys({ v: [() => setShape(shape === 'rows' ? 'cards' : 'rows'), 'agents as rows or cards'] });
  useCommands(() => [
    ...Object.entries(groupings).map(([name, title]) => ({ id: `agents-by-${name}`, title: `Agents: ${title.toLowerCase()}`, run: () => setGroup(name) })),
    ...Object.entries(sorts).map(([name, title]) => ({ id: `agents-sort-${name}`, title: `Agents: ${title.toLowerCase()}`, run: () => setSort(name) })),
    ...['rows', 'cards'].map((name) => ({ id: `agents-as-${name}`, title: `Agents as ${name}`, keys: 'v', run: () => setShape(name) })),
    ...views.value.map((v) => ({ id: `view-${v.name}`, title: `View: ${v.name}`, hint: 'saved view', run: () => show(v) })),
    { id: 'view-save', title: 'Save this view of the agents…', run: save },
  ]);
  return html`<header class="section agents-head"><h2>Agents <span class="faint number">${count(total)}</span></h2>
    <div class="counters" role="group" aria-label="Show only">${states.filter((s) => counts[s] > 0 || s === state).map((s) => html`<button key=${s} class=${`counter k-${s}`} aria-pressed=${state === s} onClick=${() => setQuery({ status: state === s ? '' : s })}>
      <span class="sign" aria-hidden="true">${sign(s)}</span> <b>${count(counts[s])}</b> ${wordOf(s)}</button>`)}</div>
    <span class="space"></span>
    <input type="search" data-filter placeholder="Filter  /" aria-label="Filter agents" value=${filter} onInput=${(e) => setQuery({ filter: e.currentTarget.value })} />
    <${Choice} label="Group" of=${groupings} value=${group} choose=${setGroup} />
    <${Choice} label="Sort" of=${sorts} value=${sort} choose=${setSort} />
    ${!narrow && html`<div class="shapes" role="group" aria-label="Show agents as">${[['rows', '☰'], ['cards', '▦']].map(([name, mark]) => html`<button key=${name} class="quiet" aria-pressed=${shape === name} onClick=${() => setShape(name)} aria-label=${`As ${name}`} title=${`As ${name}  (v)`}><span aria-hidden="true">${mark}</span></button>`)}</div>`}
    <${Views} />
  </header>`;
}

const Choice = ({ label, of, value, choose }) => html`<select aria-label=${label} value=${value} onChange=${(e) => choose(e.currentTarget.value)}>${Object.entries(of).map(([name, title]) => html`<option key=${name} value=${name} selected=${name === value}>${title}</option>`)}</select>`;

const currentQuery = () => route.value.query.toString();
const show = (v) => go(`#/${v.query && `?${v.query}`}`);

function Views() {
  const here = currentQuery();
  const shown = views.value.find((v) => v.query === here);
  const items = [
    ...views.value.map((v) => ({ title: v.name, checked: v === shown, run: () => show(v) })),
    ...(here ? [{ title: 'All agents', hint: 'no filter', run: () => go('#/') }] : []),
    { title: 'Save this view…', run: save, why: shown ? `saved as ${shown.name}` : undefined },
    ...(shown ? [{ title: `Delete “${shown.name}”`, danger: true, run: () => remove(shown.name) }] : []),
  ];
  return html`<${Menu} label="Saved views" items=${items}>${shown ? shown.name : 'Views'} <span aria-hidden="true">▾</span><//>`;
}

async function save() {
  const query = currentQuery();
  const name = (await confirm({ title: 'Save this view', text: 'It keeps filter, grouping, order and shape, in this browser. A view with the same name is replaced.', action: 'Save', input: 'Name' }))?.trim();
  if (!name) return;
  saveView(name.slice(0, 60), query);
  toast(`Saved: ${name.slice(0, 60)}`);
}

function remove(name) {
  const undo = deleteView(name);
  toast(`Deleted the view ${name}`, { undo });
}
