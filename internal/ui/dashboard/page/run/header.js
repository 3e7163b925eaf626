// The head of a run's page: its state, facts and actions.
import { path, send } from '../core/api.js';
import { useCommands } from '../core/commands.js';
import { lanes, self } from '../core/fleet.js';
import { go, link, query, setQuery } from '../core/route.js';
import { at, now, tick } from '../core/time.js';
import { budgetLane, count, final, many, money, moneyOf, sign, text } from '../core/words.js';
import { html } from '../core/view.js';
import { attempt, confirm, say } from '../parts/dialog.js';
import { Icon } from '../parts/icon.js';
import { Menu } from '../parts/menu.js';
import { Lasting, Progress, Status, Until } from '../parts/status.js';
import { Unattended } from '../parts/unattended.js';
import { Changes } from './changes.js';
import { spentOf, states } from './task.js';

/** @param {{detail: any, run: any, tasks: any[], counts: any}} props */
export function Header({ detail, run, tasks, counts }) {
  return html`<header class="run-head">
    <nav class="run-crumbs faint" aria-label="Where this is"><a href="#/runs">Runs</a> / <code>${text(run.id)}</code></nav>
    <div class="title"><h1><bdi>${text(run.name) || text(run.id)}</bdi></h1><${Status} of=${text(run.status)} />
      <span class="space"></span><${Actions} run=${run} tasks=${tasks} counts=${counts} /></div>
    ${run.stopping && !final(run.status) && html`<p class="stopping"><${Status} of="paused" word="stopping" /> no task starts any more: ${text(run.stopping)}</p>`}
    ${run.stopping && run.stopping !== run.status && final(run.status) && html`<p class="faint">It was stopped: ${text(run.stopping)}</p>`}
    <${Unattended} run=${run} />
    <${Progress} counts=${counts} />
    <${Facts} detail=${detail} run=${run} tasks=${tasks} counts=${counts} />
    <${Lanes} tasks=${tasks} />
    <${Changes} run=${run} />
  </header>`;
}

function Facts({ detail, run, tasks, counts }) {
  const spent = allSpent(detail, run);
  const workers = new Set(tasks.filter((t) => t.status === 'running').map((t) => t.attempt?.worker)).size;
  const facts = [
    ['done', `${count(counts.complete)} of ${count(counts.total)}`],
    ['time', html`<${Lasting} from=${run.created} to=${run.ended} />`],
    spent.tokens > 0 && ['tokens', within(count(spent.tokens), count(run.budget?.tokens || NaN)), near(spent.tokens, run.budget?.tokens)],
    (spent.usd > 0 || run.budget?.usd > 0) && ['cost', run.budget?.usd > 0 ? moneyOf(spent.usd, run.budget.usd) : money(spent.usd) || '$0', near(spent.usd, run.budget?.usd)],
    workers > 0 && ['at work', many(workers, 'worker')],
    run.project && ['project', text(run.project)],
    run.source_file && ['plan', html`<a href=${path`/v1/runs/${run.id}/plan`} target="_blank" rel="noopener" title="The plan as gaffer has read it, as JSON">${text(run.source_file).split('/').pop()}</a>`],
    run.owner?.pid && ['run by', html`gaffer, process ${text(run.owner.pid)}${run.owner.gone && !final(run.status) && html` <${Status} of="offline" word="gone" />`}`],
  ];
  return html`<dl class="run-facts">${facts.filter(Boolean).map(([name, value, warn]) => html`<div key=${name} class=${warn ? 'near' : ''}><dt>${name}</dt><dd><bdi>${value}</bdi></dd></div>`)}</dl>`;
}

const within = (value, most) => (most ? `${value} of ${most}` : value);
const near = (value, most) => most > 0 && value >= 0.8 * most;

// The cost of a run so far. The run's own total changes only when attempts end; the cost
// of a running attempt is reported while it grows.
function allSpent(detail, run) {
  const sum = spentOf(detail.history.value ? detail.attempts.all() : []);
  const whole = run.spent ?? {};
  return { usd: Math.max(sum.usd, Number(whole.usd) || 0), tokens: Math.max(sum.tokens, Number(whole.tokens) || 0) };
}

function Lanes({ tasks }) {
  tick.value;
  const used = new Set(tasks.map((t) => t.agent));
  const paused = lanes.all().filter((l) => (used.has(String(l.name).split('/')[0]) || budgetLane(l)) && at(l.until) > now());
  return paused.map((l) => budgetLane(l) ? html`<p key=${l.name} class="stopping"><${Status} of="paused" word="waits" /> ${text(l.reason)}; more <${Until} time=${l.until} /></p>` : html`<p key=${l.name} class="stopping"><${Status} of="paused" word=${`${text(l.name)} paused`} /> goes on <${Until} time=${l.until} /> <span class="faint">${text(l.reason)}</span></p>`);
}

/** The number of tasks by status; a click filters the tasks. */
export function Counters({ counts }) {
  const wanted = query('status');
  const shown = states.filter((s) => counts[s] > 0 || s === wanted);
  return html`<div class="counters" role="group" aria-label="Show only">${shown.map((s) => html`<button key=${s} class=${`counter k-${s}`} aria-pressed=${wanted === s} onClick=${() => setQuery({ status: wanted === s ? '' : s })}>
    <span class="sign" aria-hidden="true">${sign(s)}</span> <b>${count(counts[s])}</b> ${s}</button>`)}</div>`;
}

function Actions({ run, tasks, counts }) {
  const may = self.value.role !== 'viewer';
  const pages = [['Replay', link('runs', run.id, 'replay')], ['Records', `#/records?run=${encodeURIComponent(run.id)}`]];
  const again = may && counts.failed > 0 && (() => retry(run, tasks.filter((t) => t.status === 'failed')));
  const end = may && !final(run.status) && (() => cancel(run, counts));
  const views = [['List', ''], ['Graph', 'graph'], ['Timeline', 'timeline']];
  useCommands(() => [
    ...views.map(([title, view]) => ({ id: `run ${title}`, title: `${title} of this run`, run: () => go(link('runs', run.id) + (view && `?view=${view}`)) })),
    ...pages.map(([title, href]) => ({ id: `run ${title}`, title: `${title} of this run`, run: () => go(href) })),
    ...(again ? [{ id: 'run retry', title: 'Retry the failed tasks of this run', run: again }] : []),
    ...(end ? [{ id: 'run cancel', title: 'Cancel this run', run: end }] : []),
  ]);
  return html`<div class="actions">
    ${pages.map(([title, href]) => html`<a key=${title} class="button" href=${href}>${title}</a>`)}
    ${again && html`<button onClick=${again}>Retry ${counts.failed === 1 ? 'the failed task' : `${count(counts.failed)} failed`}…</button>`}
    ${end && html`<button class="danger" onClick=${end}>Cancel run…</button>`}
    <${Menu} class="others" label="More of this run" items=${pages.map(([title, href]) => ({ title, href }))}><${Icon} of="more" /><//>
  </div>`;
}

async function cancel(run, counts) {
  const ends = counts.running ? `${many(counts.running, 'task')} that ${counts.running === 1 ? 'runs is' : 'run are'} ended, with everything ${counts.running === 1 ? 'it' : 'they'} started` : 'No task of it runs';
  const queued = counts.queued ? `; ${count(counts.queued)} queued will not start` : '';
  const name = text(run.name) || text(run.id);
  if (await confirm({ title: `Cancel the run ${name}?`, text: html`<p>${ends}${queued}.</p><p class="faint"><code>${text(run.id)}</code></p>`, action: 'Cancel the run', danger: true }) === null) return;
  attempt(`Cancelled: ${name}`, () => send(path`/v1/runs/${run.id}/cancel`, { why: 'cancelled in the dashboard' }));
}

async function retry(run, failed) {
  const names = failed.slice(0, 12).map((t) => text(t.id)).join(', ') + (failed.length > 12 ? ` and ${failed.length - 12} more` : '');
  if (await confirm({ title: `Retry ${many(failed.length, 'task')}?`, text: html`<p>${names}</p><p class="faint">Each gets one more attempt. What was cancelled because of them is queued again.</p>`, action: 'Retry' }) === null) return;
  let done = 0;
  for (const t of failed) {
    try {
      await send(path`/v1/runs/${run.id}/retry`, { task: t.id });
      done++;
    } catch (e) {
      say(`${text(t.id)}: ${e.message}`, 'bad');
      if (e.status === 0 || e.status === 401 || e.status === 403) break;
    }
  }
  if (done) say(`Queued again: ${many(done, 'task')}`);
}
