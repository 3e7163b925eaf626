// The morning report: what has become of tasks while the user was away.
import { get } from '../core/api.js';
import { onChange } from '../core/fleet.js';
import { link, query, route } from '../core/route.js';
import { at, exact, now } from '../core/time.js';
import { useTitle } from '../core/title.js';
import { html, signal, useEffect, useMemo } from '../core/view.js';
import { count, many, money, text } from '../core/words.js';
import { costHint, costText } from '../cost/words.js';
import { Empty, Status, Wrong } from '../parts/status.js';

/** The times at which a report may start. @type {[string, string, () => Date][]} */
const starts = [
  ['evening', 'Yesterday 18:00', () => day(1, 18)],
  ['today', 'Today', () => day(0, 0)],
  ['yesterday', 'Yesterday', () => day(1, 0)],
  ['7d', '7 days', () => day(7, 0)],
];

/** An hour of the day that is n days before today. @param {number} n @param {number} hour */
function day(n, hour) {
  const d = new Date(now());
  d.setDate(d.getDate() - n);
  d.setHours(hour, 0, 0, 0);
  return d;
}

const soon = 5_000; // milliseconds between a change and the next request

class Morning {
  constructor() {
    this.report = signal(null);
    this.error = signal('');
    this.query = '';
  }

  /** @param {string} query */
  async load(query) {
    this.stopper?.abort();
    const stopper = this.stopper = new AbortController();
    this.query = query;
    try {
      this.report.value = (await get(`/v1/report/morning?${query}`, stopper.signal)).report;
      this.error.value = '';
    } catch (e) {
      if (e.name !== 'AbortError') this.error.value = e.message;
    }
  }

  // Loads again after a task has changed.
  open() {
    const forget = onChange(({ type, change }) => {
      if ((type === 'tasks' && change.run) || type === 'attempts') this.timer ||= setTimeout(() => { this.timer = 0; this.load(this.query); }, soon);
    });
    return () => { forget(); clearTimeout(this.timer); this.stopper?.abort(); };
  }
}

export function Page() {
  useTitle('Report');
  const [name, , start] = starts.find(([one]) => one === query('since')) ?? starts[0];
  const q = new URLSearchParams({ since: start().toISOString() });
  if (query('project')) q.set('project', query('project'));
  const morning = useMemo(() => new Morning(), []);
  useEffect(() => morning.open(), []);
  useEffect(() => { morning.load(q.toString()); }, [q.toString()]);
  const r = morning.report.value;
  return html`<header class="section"><h1>Morning report</h1>
      <nav class="segments" aria-label="Since">${starts.map(([one, word]) => html`<a key=${one} href=${href({ since: one })} aria-current=${one === name ? 'page' : undefined}>${word}</a>`)}</nav>
      ${query('project') && html`<a class="counter" href=${href({ project: '' })} title="Show all projects">${query('project')} ✕</a>`}</header>
    ${morning.error.value && html`<${Wrong} message=${`The report could not be loaded: ${morning.error.value}`}><p><button onClick=${() => morning.load(q.toString())}>Try again</button></p><//>`}
    ${!r && !morning.error.value && html`<p class="starting">Looking…</p>`}
    ${r && html`<${Report} r=${r} />`}`;
}

// href returns this address with other values in its query.
function href(values) {
  const q = new URLSearchParams(route.value.query);
  for (const [name, value] of Object.entries(values)) value ? q.set(name, value) : q.delete(name);
  return link('report') + (q.size ? `?${q}` : '');
}

/** The lists of tasks: the one that needs the user most is first. */
const lists = [
  ['waiting', 'Waiting for you', 'waiting'], ['failed', 'Failed', 'failed'], ['review', 'To review', 'waiting'], ['merged', 'Merged', 'complete'],
  ['done', 'Complete, nothing to merge', 'complete'], ['running', 'Running or queued', 'running'], ['skipped', 'Skipped', 'cancelled'],
];

function Report({ r }) {
  const some = lists.filter(([name]) => r[name].length > 0);
  const figure = (name, value, note) => html`<div class="panel tile"><dt>${name}</dt><dd><b>${value}</b>${note && html` <span class="faint">${note}</span>`}</dd></div>`;
  if (!some.length && !r.runs.length && !r.not_started.length) return html`<${Empty} title=${`Nothing has happened since ${exact(r.since)}.`}><p>Choose a longer time, or <a href="#/new">start a run</a>.</p><//>`;
  return html`<dl class="tiles">
      ${figure('Cost', r.cost.attempts ? costText(r.cost) : '$0', r.cost.unknown > 0 && `unknown for ${many(r.cost.unknown, 'attempt')}`)}
      ${some.map(([name, title]) => figure(title, count(r[name].length)))}
    </dl>
    <div class="morning">${some.map(([name, title, kind]) => html`<${Tasks} key=${name} name=${name} title=${title} kind=${kind} list=${r[name]} />`)}
      <${NotStarted} list=${r.not_started} /><${Runs} list=${r.runs} /><${Questions} list=${r.questions} /><${Accounts} list=${r.accounts} until=${r.until} /></div>
    <p class="faint asof">From ${exact(r.since)} to ${exact(r.until)}.</p>`;
}

const page = 100; // tasks of a list that are shown

function Tasks({ name, title, kind, list }) {
  return html`<section class=${`panel stack k-${kind}`} aria-label=${title}><h2>${title} <span class="faint">${count(list.length)}</span></h2>
    <ul>${list.slice(0, page).map((t) => html`<li key=${`${t.run}/${t.task}`}><${Task} t=${t} list=${name} /></li>`)}</ul>
    ${list.length > page && html`<p class="faint">and ${count(list.length - page)} more</p>`}</section>`;
}

// isWeb tells whether an address from a source may become a link.
const isWeb = (url) => /^https?:\/\//.test(text(url));

function Task({ t, list }) {
  const item = t.item;
  const where = link('runs', t.run, 'tasks', t.task);
  return html`<div class="line"><a class="what" href=${list === 'review' || list === 'merged' ? `${where}/review` : where}><bdi>${text(t.name) || t.task}</bdi></a>
      ${list === 'running' && html`<${Status} of=${t.status} />`}
      ${t.review && t.review !== 'open' && t.review !== 'merged' && html`<span class="faint">${t.review.replace('_', ' ')}</span>`}
      ${t.changed > 0 && html`<span class="faint">+${count(t.added ?? 0)} −${count(t.removed ?? 0)} in ${many(t.changed, 'file')}${list === 'merged' ? ` into ${t.into}` : ''}</span>`}
      <span class="space"></span>${t.spent?.usd > 0 && html`<span class="cost">${money(t.spent.usd)}</span>`}${t.at && html`<time class="faint" datetime=${t.at} title=${exact(t.at)}>${hour(t.at)}</time>`}</div>
    ${t.why && html`<p class="why"><bdi>${t.class && t.class !== 'failed' && t.class !== t.why ? `${t.class}: ` : ''}${t.why}</bdi></p>`}
    ${item && html`<p class="faint"><bdi>${isWeb(item.url) ? html`<a href=${item.url} target="_blank" rel="noopener noreferrer">${item.id} ${item.title}</a>` : `${item.id} ${text(item.title)}`}</bdi> <span title=${item.source}>${item.source.startsWith('/') ? item.source.split('/').pop() : item.source}</span></p>`}`;
}

/** A time of today as 14:03, of another day with the date. @param {string} time */
function hour(time) {
  const d = new Date(at(time));
  const clock = { hour: '2-digit', minute: '2-digit', hour12: false };
  return d.toDateString() === new Date(now()).toDateString() ? d.toLocaleTimeString([], clock) : d.toLocaleString([], { month: 'short', day: 'numeric', ...clock });
}

/** Planned times of schedules at which no run started. */
function NotStarted({ list }) {
  return list.length > 0 && html`<section class="panel stack k-waiting" aria-label="Schedules that started no run"><h2>Schedules that started no run <span class="faint">${count(list.length)}</span></h2><ul>${list.map((f, i) => html`<li key=${i}>
    <div class="line"><a class="what" href=${link('schedules')}><bdi>${f.schedule}</bdi></a> <span>${f.status}</span><span class="space"></span><time class="faint" datetime=${f.planned} title=${exact(f.planned)}>${hour(f.planned)}</time></div>
    ${(f.why || f.count > 1) && html`<p class="why"><bdi>${f.count > 1 ? `${many(f.count, 'planned time')}: ` : ''}${text(f.why)}</bdi></p>`}</li>`)}</ul></section>`;
}

function Runs({ list }) {
  return list.length > 0 && html`<section class="panel stack" aria-label="Runs"><h2>Runs <span class="faint">${count(list.length)}</span></h2><ul>${list.map((r) => html`<li key=${r.id}>
    <div class="line"><a class="what" href=${link('runs', r.id)}><bdi>${text(r.name) || r.id}</bdi></a> <${Status} of=${r.status} /><span class="space"></span><span class="cost" title=${costHint(r.cost)}>${r.cost.attempts ? costText(r.cost) : ''}</span></div>
    <p class="faint">${counts(r.counts)}${r.started_by ? `, started by ${r.started_by}` : ''}${r.stopping ? `, ${r.stopping}` : ''}</p></li>`)}</ul></section>`;
}

const counts = (c) => ['complete', 'failed', 'cancelled', 'running', 'queued'].filter((one) => c[one] > 0).map((one) => `${count(c[one])} ${one}`).join(', ') || 'no tasks';

function Questions({ list }) {
  const verb = (q) => (q.open ? 'waiting for an answer' : !q.by ? 'withdrawn by the agent' : `${q.denied ? 'denied' : q.tool ? 'allowed' : 'answered'} by ${q.by}`);
  return list.length > 0 && html`<section class="panel stack" aria-label="Questions of agents"><h2>Questions of agents</h2><ul>${list.map((q, i) => html`<li key=${i}>
    <div class="line"><b>${count(q.count)}×</b> <bdi>${verb(q)}</bdi></div><p class="faint"><a href=${link('runs', q.run, 'tasks', q.task)}>${q.task}</a>: <bdi>${q.example}${q.answer ? ` → ${q.answer}` : ''}</bdi></p></li>`)}</ul></section>`;
}

function Accounts({ list, until }) {
  const times = (n) => (n === 1 ? 'once' : n === 2 ? 'twice' : `${count(n)} times`);
  return list.length > 0 && html`<section class="panel stack" aria-label="Accounts"><h2>Accounts</h2><ul>${list.map((a) => html`<li key=${a.name}>
    <div class="line"><b><bdi>${a.name}</bdi></b> ${many(a.attempts, 'attempt')}<span class="space"></span><span class="cost">${a.usd === null ? html`<span class="faint">unknown</span>` : money(a.usd)}</span></div>
    ${(a.limited > 0 || at(a.until) > at(until)) && html`<p class="why">${a.limited > 0 ? `reached its rate limit ${times(a.limited)}` : ''}${at(a.until) > at(until) ? `${a.limited > 0 ? ', ' : ''}paused until ${hour(a.until)}` : ''}</p>`}</li>`)}</ul></section>`;
}
