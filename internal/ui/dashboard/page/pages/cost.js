// What attempts have cost: by day, agent, model, account, project and run, and against budgets.
import { useCommands } from '../core/commands.js';
import { go, link, query, route, setQuery } from '../core/route.js';
import { useTitle } from '../core/title.js';
import { html } from '../core/view.js';
import { count, many } from '../core/words.js';
import { Budgets, Limits } from '../cost/budgets.js';
import { DayChart } from '../cost/chart.js';
import { asked, daysAgo, groupings, spans, useCosts, zone } from '../cost/source.js';
import { Groups } from '../cost/table.js';
import { costText, tokensText } from '../cost/words.js';
import { Empty, Wrong } from '../parts/status.js';

export function Page() {
  useTitle('Cost');
  const { span, by, from, to, q } = asked();
  const costs = useCosts(q);
  const report = costs.report.value;
  const file = `/v1/cost.csv?${q}`;
  useCommands(() => [
    ...groupings.map(([name, word]) => ({ id: `cost-by-${name}`, title: `Cost by ${word.toLowerCase()}`, run: () => go(href({ by: name, sort: '' })) })),
    { id: 'cost-csv', title: 'Download the cost as CSV', run: () => document.getElementById('cost-csv').click() },
  ]);
  return html`<header class="section"><h1>Cost</h1><${Span} span=${span} from=${from} to=${to} />
      <span class="faint busy" role="status">${costs.busy.value && report ? 'Loading…' : ''}</span></header>
    ${costs.error.value && html`<${Wrong} message=${`The cost could not be loaded: ${costs.error.value}`}><p><button onClick=${() => costs.load(q)}>Try again</button></p><//>`}
    ${!report && !costs.error.value && html`<p class="starting">Adding up…</p>`}
    ${report && html`<${Figures} t=${report.total} />
      ${report.days.length > 0 && html`<section aria-label="Over time" class="by-day"><${DayChart} days=${report.days} hours=${report.hours} unit=${query('unit') === 'tokens' ? 'tokens' : 'cost'}><${Unit} /><//></section>`}
      <${Limits} list=${report.limits} />
      <${Budgets} list=${report.budgets} />
      <section aria-label="Groups"><header class="section"><nav class="tabs" aria-label="Group by">${groupings.map(([name, word]) => html`<a key=${name} href=${href({ by: name, sort: '' })} aria-current=${by === name ? 'page' : undefined}>${word}</a>`)}</nav><span class="space"></span>
        <a id="cost-csv" class="button" href=${file} download=${`gaffer-cost-by-${by}.csv`}>↓ CSV</a></header>
        ${report.by === by ? html`<${Groups} key=${by} report=${report} by=${by} heading=${groupings.find(([name]) => name === by)[1]} />` : html`<p class="starting">Adding up…</p>`}</section>
      <p class="faint asof">An attempt counts on the day on which it started (${zone}). ${report.total.unknown > 0 && html`<b>+</b> or <b>unknown</b>: not every agent program reports a cost.`}</p>`}`;
}

// href returns this address with other values in its query.
function href(values) {
  const q = new URLSearchParams(route.value.query);
  for (const [name, value] of Object.entries(values)) value ? q.set(name, value) : q.delete(name);
  return link('cost') + (q.size ? `?${q}` : '');
}

function Span({ span, from, to }) {
  const custom = span === 'custom';
  const pick = (name) => (e) => setQuery({ span: 'custom', from, to, [name]: e.currentTarget.value });
  return html`<nav class="segments" aria-label="Time">${spans.map(([name, word]) => html`<a key=${name} href=${href(name === 'custom' ? { span: name, from: from || daysAgo(29), to: to || daysAgo(0) } : { span: name, from: '', to: '' })} aria-current=${span === name ? 'page' : undefined}>${word}</a>`)}</nav>
    ${custom && html`<span class="cost-days"><label>From <input type="date" value=${from} max=${to || undefined} onChange=${pick('from')} /></label> <label>to <input type="date" value=${to} min=${from || undefined} onChange=${pick('to')} /></label></span>`}
    ${query('project') && html`<a class="counter" href=${href({ project: '' })} title="Show all projects">${query('project')} ✕</a>`}`;
}

function Unit() {
  const tokens = query('unit') === 'tokens';
  return html`<span class="segments small">${[['', 'Cost'], ['tokens', 'Tokens']].map(([name, word]) => html`<button key=${name} aria-pressed=${tokens === (name === 'tokens')} onClick=${() => setQuery({ unit: name })}>${word}</button>`)}</span>`;
}

function Figures({ t }) {
  const figure = (name, value, note) => html`<div class="panel tile"><dt>${name}</dt><dd><b>${value}</b>${note && html` <span class="faint">${note}</span>`}</dd></div>`;
  if (!t.attempts) return null;
  return html`<dl class="tiles">
    ${figure('Cost', costText(t), t.unknown > 0 && `unknown for ${many(t.unknown, 'attempt')}`)}
    ${figure('Attempts', count(t.attempts), t.running > 0 ? `${count(t.running)} running` : '')}
    ${figure('Input tokens', tokensText(t, t.input), t.cached > 0 && `${Math.round(100 * t.cached / t.input)}% from the cache`)}
    ${figure('Output tokens', tokensText(t, t.output), t.uncounted > 0 && t.uncounted < t.attempts && `not counted: ${many(t.uncounted, 'attempt')}`)}
  </dl>`;
}
