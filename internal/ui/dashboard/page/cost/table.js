// The groups of a cost report as a table that can be sorted.
import { link, query, setQuery } from '../core/route.js';
import { html, useMemo, useState } from '../core/view.js';
import { count, text } from '../core/words.js';
import { useList } from '../parts/list.js';
import { Empty, Status } from '../parts/status.js';
import { costHint, costText, groupName, tokensText } from './words.js';

const page = 100; // rows that are shown at first

// value returns what rows are sorted by. Unknown costs come after all known ones.
const value = {
  name: (row) => (row.name || row.key).toLowerCase(), cost: (row) => row.usd ?? -1, attempts: (row) => row.attempts,
  input: (row) => row.input, cached: (row) => row.cached, output: (row) => row.output,
};
const columns = [['cost', 'Cost'], ['attempts', 'Attempts'], ['input', 'Input'], ['cached', 'Cached'], ['output', 'Output']];

/** The rows in the order that the address asks for; without one, as the server sent them. @param {any[]} rows */
function useSorted(rows) {
  const [by, way] = query('sort').split('.');
  const of = Object.hasOwn(value, by) ? value[by] : null;
  return useMemo(() => {
    if (!of) return rows;
    const sign = way === 'up' ? 1 : -1;
    return [...rows].sort((a, b) => (of(a) < of(b) ? -sign : of(a) > of(b) ? sign : 0));
  }, [rows, by, way]);
}

function Head({ name, word, number }) {
  const [by, way] = query('sort').split('.');
  const on = by === name;
  const first = name === 'name' ? 'up' : 'down';
  const next = !on ? first : way === first ? (first === 'up' ? 'down' : 'up') : '';
  return html`<th scope="col" class=${number ? 'number' : ''} aria-sort=${on ? (way === 'up' ? 'ascending' : 'descending') : undefined}>
    <button class="sort" onClick=${() => setQuery({ sort: next && `${name}.${next}` })}>${word}<span aria-hidden="true">${on ? (way === 'up' ? ' ↑' : ' ↓') : ''}</span></button></th>`;
}

/** @param {{report: any, by: string, heading: string}} props */
export function Groups({ report, by, heading }) {
  const rows = useSorted(report.rows);
  const [shown, setShown] = useState(page);
  const list = rows.slice(0, shown);
  const highest = Math.max(0, ...report.rows.map((r) => r.usd ?? 0));
  const keys = useList({ count: list.length, key: `cost-${by}` });
  if (!rows.length) return html`<${Empty} title="No agent worked in this time."><p>Choose a longer time, or <a href="#/new">start a run</a>.</p><//>`;
  return html`<div class="scroll"><table class="costs"><caption class="hidden">Cost by ${by}</caption><thead><tr><${Head} name="name" word=${heading} />${columns.map(([name, word]) => html`<${Head} key=${name} name=${name} word=${word} number />`)}</tr></thead>
    <tbody ...${keys.list}>${list.map((r, i) => html`<${Group} key=${r.key} r=${r} by=${by} highest=${highest} item=${keys.item(i)} />`)}</tbody>
    ${report.rows.length > 1 && html`<tfoot><tr><th scope="row">Total</th><${Numbers} r=${report.total} /></tr></tfoot>`}</table></div>
    ${shown < rows.length && html`<p><button onClick=${() => setShown(shown + page)}>Show ${Math.min(page, rows.length - shown)} more of ${count(rows.length)}</button></p>`}`;
}

function Group({ r, by, highest, item }) {
  const share = highest > 0 ? (r.usd ?? 0) / highest : 0;
  return html`<tr ...${item}><th scope="row"><${Name} r=${r} by=${by} /><span class="share" aria-hidden="true"><span style=${{ width: `${100 * share}%` }}></span></span></th><${Numbers} r=${r} /></tr>`;
}

const dayName = new Intl.DateTimeFormat('en', { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });

function Name({ r, by }) {
  if (by === 'run') return html`<a href=${link('runs', r.key)}><bdi>${text(r.name) || r.key}</bdi></a> <${Status} of=${r.status} /> <span class="faint">${r.project}</span>`;
  if (by === 'day') return html`<time datetime=${r.key}>${dayName.format(Date.parse(r.key))}</time>`;
  return r.key ? html`<bdi>${r.key}</bdi>` : html`<span class="faint">${groupName(by, r)}</span>`;
}

function Numbers({ r }) {
  return html`<td class=${`number cost ${r.usd === null ? 'faint' : ''}`} data-label="Cost" title=${costHint(r)}>${costText(r)}</td>
    <td class="number" data-label="Attempts">${count(r.attempts)}${r.running > 0 && html` <span class="faint">${count(r.running)} running</span>`}</td>
    <td class="number" data-label="Input">${tokensText(r, r.input)}</td><td class="number" data-label="Cached">${tokensText(r, r.cached)}</td><td class="number" data-label="Output">${tokensText(r, r.output)}</td>`;
}
