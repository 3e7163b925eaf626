// The page of one run: its state, and its tasks as a list, a graph or a timeline.
import { lanes, releaseRun, watchRun } from '../core/fleet.js';
import { link, query, route, setQuery } from '../core/route.js';
import { final } from '../core/words.js';
import { html, useEffect, useLayoutEffect, useMemo, useRef } from '../core/view.js';
import { Questions } from '../parts/question.js';
import { Empty, Wrong } from '../parts/status.js';
import { Graph } from '../run/graph.js';
import { Counters, Header } from '../run/header.js';
import { List } from '../run/list.js';
import { structureOf } from '../run/structure.js';
import { countsOf, isOf, matches, unfinishedOf, wordsOf } from '../run/task.js';
import { Timeline } from '../run/timeline.js';

const views = { list: 'List', graph: 'Graph', timeline: 'Timeline' };

/** @param {{run: string}} props */
export function Page({ run: id }) {
  const detail = useMemo(() => watchRun(id), []);
  useLayoutEffect(() => () => releaseRun(detail), []); // a layout effect, because it is also needed if the page is left before it is painted
  const run = detail.run.value;
  useEffect(() => { if (run && !detail.history.value) detail.loadHistory().catch(() => { /* the view that needs the history reports the error */ }); }, [!run]);
  const before = useRef(null);
  const tasks = detail.tasks.all();
  const structure = before.current = structureOf(tasks, before.current);
  if (!run) return detail.error.value ? html`<${Missing} id=${id} why=${detail.error.value} />` : html`<p class="starting">Loading…</p>`;
  const counts = countsOf(tasks);
  return html`<div class="run-page">
    ${detail.error.value && html`<${Wrong} message=${detail.error.value} />`}
    <${Header} detail=${detail} run=${run} tasks=${tasks} counts=${counts} />
    <${Questions} of=${(q) => q.run === id} />
    <${Views} run=${run} detail=${detail} tasks=${tasks} counts=${counts} structure=${structure} />
  </div>`;
}

const Missing = ({ id, why }) => html`<${Empty} title="This run cannot be shown."><p>${why}</p><p><code>${id}</code></p><p><a href="#/runs">All runs</a></p><//>`;

function Views({ run, detail, tasks, counts, structure }) {
  const view = query('view') in views ? query('view') : 'list';
  const wanted = query('status');
  const words = wordsOf(query('filter'));
  const row = (id) => detail.tasks.rows.get(id);
  const shown = structure.order.filter((i) => (!wanted || isOf(tasks[i], wanted)) && matches(tasks[i], words));
  const failed = (i) => tasks[i].status === 'failed';
  const props = { run: run.id, detail, shown, structure, row };
  return html`<nav class="tabs" aria-label="Views">${Object.entries(views).map(([name, title]) => html`<a key=${name} href=${hrefOf(run.id, name)} aria-current=${name === view ? 'page' : undefined}>${title}</a>`)}</nav>
    <section aria-label=${views[view]}>
      <div class="run-filters"><${Counters} counts=${counts} />
        <input type="search" data-filter placeholder="Filter  /" aria-label="Filter tasks" value=${query('filter')} onInput=${(e) => setQuery({ filter: e.currentTarget.value })} /></div>
      ${!tasks.length ? html`<${Empty} title="This run has no task yet."><p>${final(run.status) ? 'It ended before its tasks were planned.' : 'They appear here when they are planned.'}</p><//>`
    : view === 'graph' ? html`<${Graph} ...${props} />`
      : !shown.length ? html`<${Empty} title="No task is like that."><button onClick=${() => setQuery({ status: '', filter: '' })}>Show all</button><//>`
        : view === 'timeline' ? html`<${Timeline} ...${props} whole=${run} />`
          : html`<${List} ...${props} shown=${[...shown.filter(failed), ...shown.filter((i) => !failed(i))]} among=${{ row, unfinished: unfinishedOf(tasks), lanes: lanes.all() }} />`}
    </section>`;
}

function hrefOf(id, view) {
  const q = new URLSearchParams(route.value.query);
  if (view === 'list') q.delete('view');
  else q.set('view', view);
  return link('runs', id) + (q.size ? `?${q}` : '');
}
