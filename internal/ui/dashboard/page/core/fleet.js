// The state of the fleet: loaded once, then updated by the changes from the stream. It
// is loaded again only if changes were missed.
import { get, path } from './api.js';
import { attemptLive, fillLive, seenLive, taskLive } from './live.js';
import { follow, onReturn } from './stream.js';
import { Table } from './table.js';
import { at, now, setClock } from './time.js';
import { final, own } from './words.js';
import { signal } from './view.js';

/** Workers, which the protocol calls agents. @type {Table<any>} */
export const agents = new Table();
/** Runs without their tasks. @type {Table<any>} */
export const runs = new Table();
/** Open questions of agents. @type {Table<any>} */
export const questions = new Table();
/** Agent accounts that are paused. @type {Table<any>} */
export const lanes = new Table();
/** The most recently changed tasks of channels and chains. @type {Table<any>} */
export const tasks = new Table();
/** The last question of each task of a channel, by task id. @type {Table<any>} */
export const prompts = new Table();

/** Whether the state of the fleet was loaded. */
export const loaded = signal(false);
/** The server's version, and the name and role of this browser's token. */
export const self = signal({ version: '', name: '', role: '' });

const offlineAfter = 30_000;
const keptTasks = 500;
const keptRuns = 200;

/** Whether a worker has sent a heartbeat recently, by the protocol's rule. */
export const online = (agent) => now() - at(agent.last_seen) < offlineAfter;

/** Runs whose tasks are shown. @type {Map<string, Detail>} */
const details = new Map();

/** One run with its tasks, kept up to date while a page shows it. */
class Detail {
  /** @param {string} id */
  constructor(id) {
    this.id = id;
    this.users = 0;
    this.run = signal(null);
    this.error = signal('');
    /** Tasks in the order of the plan. @type {Table<any>} */
    this.tasks = new Table();
    /** All attempts by id, after loadHistory. @type {Table<any>} */
    this.attempts = new Table();
    /** All questions by id, answered or not, after loadHistory. @type {Table<any>} */
    this.questions = new Table();
    this.history = signal(false);
    /** For each request in progress, the changes that arrived since it was sent. @type {Set<[string, any][]>} */
    this.late = new Set();
  }

  // An answer may be older than the changes that arrived during the request. So these
  // changes are applied again after the answer.
  async fetching(fetch) {
    const late = [];
    this.late.add(late);
    try {
      await fetch();
    } finally {
      this.late.delete(late);
      for (const [what, change] of late) this[what](change);
    }
  }

  note(what, change) {
    for (const late of this.late) late.push([what, change]);
  }

  async load() {
    try {
      await this.fetching(async () => {
        const { run } = await get(path`/v1/runs/${this.id}`);
        const { tasks: list, ...rest } = run;
        this.tasks.fill((list ?? []).map((t) => [t.id, t]));
        this.run.value = rest;
      });
      this.error.value = '';
      if (this.history.value) await this.loadHistory();
    } catch (e) {
      this.error.value = e.message;
    }
  }

  loadHistory() {
    return this.fetching(async () => {
      const [tried, asked] = await Promise.all([get(path`/v1/runs/${this.id}/attempts`), get(path`/v1/runs/${this.id}/questions`)]);
      this.attempts.fill((tried.attempts ?? []).map((a) => [a.id, a]));
      this.questions.fill((asked.questions ?? []).map((q) => [q.id, q]));
      this.history.value = true;
    });
  }

  task(change) {
    this.note('task', change);
    const before = this.tasks.rows.get(change.id);
    this.tasks.put(change.id, { ...change, attempt: change.attempt ?? before?.attempt, question: change.status === 'running' ? before?.question : undefined });
    if (this.history.value && change.attempt) this.attempts.put(change.attempt.id, { run: this.id, task: change.id, ...change.attempt });
  }

  attempt(change) {
    this.note('attempt', change);
    const task = this.tasks.rows.get(change.task);
    if (task && (task.attempt?.number ?? 0) <= change.number) this.tasks.put(task.id, { ...task, attempt: change });
    if (this.history.value) this.attempts.put(change.id, change);
  }

  // Applies the polled progress of an attempt, unless the attempt has ended since.
  doing(change) {
    const task = this.tasks.rows.get(change.task);
    if (task?.status !== 'running' || task.attempt?.id !== change.id || task.attempt.ended) return;
    this.tasks.put(task.id, { ...task, attempt: change });
    if (this.history.value) this.attempts.put(change.id, change);
  }

  question(change) {
    this.note('question', change);
    const task = this.tasks.rows.get(change.task);
    if (task) this.tasks.put(task.id, { ...task, question: change.closed ? undefined : change });
    if (this.history.value) this.questions.put(change.id, change);
  }
}

/**
 * Returns a run with its tasks, kept up to date until releaseRun is called.
 * @param {string} id
 * @returns {Detail}
 */
export function watchRun(id) {
  let d = details.get(id);
  if (!d) {
    details.set(id, d = new Detail(id));
    d.load();
  }
  d.users++;
  return d;
}

/** Drops a run after the next page is drawn, unless that page shows the same run. @param {Detail} d */
export function releaseRun(d) {
  setTimeout(() => { if (--d.users === 0) details.delete(d.id); });
}

const pairs = (list, key = 'id') => (list ?? []).map((row) => [row[key], row]);

const everything = () => Promise.all([
  get('/v1/self'), get('/v1/agents'), get(`/v1/runs?ended=1&limit=${keptRuns}`), get('/v1/questions'), get('/v1/lanes'),
  get(`/v1/tasks?limit=${keptTasks}`), get('/v1/events?limit=100'), get('/v1/live'),
]);

// fill replaces the state by the answers of everything().
async function fill([who, a, r, q, l, t, e, v]) {
  self.value = who.self;
  setClock(who.self.time);
  agents.fill(pairs(a.agents));
  runs.fill(pairs(r.runs));
  questions.fill(pairs(q.questions));
  lanes.fill(pairs(l.lanes, 'name'));
  tasks.fill(pairs(t.tasks));
  fillLive(v.attempts);
  prompts.fill([]);
  for (const event of [...(e.events ?? [])].sort((x, y) => at(x.created_at) - at(y.created_at))) prompted(event);
  await Promise.all([...details.values()].map((d) => d.load()));
  loaded.value = true;
}

function prompted(event) {
  if (event.type === 'task.prompt' && event.task_id) prompts.put(event.task_id, event);
}

// Removes the oldest rows for which over returns true until at most most rows are left.
function trim(table, most, over) {
  for (const [id, row] of table.rows) {
    if (table.rows.size <= most) return;
    if (over(row)) table.drop(id);
  }
}

/** The last 'seen' message of each run. @type {Map<string, any>} */
const lastSeen = new Map();

// A change does not contain the process that works on a run. If the run's status has
// changed, that process may have ended, so the owner comes from the last 'seen' message
// with the new status. After a restart of the server that message arrives before the change.
function ownerOf(before, c) {
  if (before.status === c.status) return before.owner;
  const last = lastSeen.get(c.id);
  return last?.status === c.status ? last.owner : undefined;
}

/** Applies a change to the state, by the change's type. */
const apply = {
  agents(c) {
    if (c.gone) agents.drop(c.id);
    else agents.put(c.id, c);
  },
  runs(c) {
    const team = c.team ?? runs.rows.get(c.id)?.team; // a change does not contain it, and it never changes
    runs.put(c.id, team ? { ...c, team } : c);
    trim(runs, keptRuns, (r) => final(r.status));
    const d = details.get(c.id);
    if (d?.run.value) d.run.value = { ...d.run.value, ...c, owner: c.owner ?? ownerOf(d.run.value, c), tasks: undefined };
  },
  tasks(c) {
    if (c.run) {
      taskLive(c);
      return details.get(c.run)?.task(c);
    }
    tasks.put(c.id, c);
    trim(tasks, keptTasks, (t) => t.status === 'done' || t.status === 'failed');
  },
  attempts(c) { attemptLive(c); details.get(c.run)?.attempt(c); },
  questions(c) {
    if (c.closed) questions.drop(c.id);
    else questions.put(c.id, c);
    details.get(c.run)?.question(c);
  },
  lanes(c) {
    if (at(c.until) > now()) lanes.put(c.name, c);
    else lanes.drop(c.name);
  },
  events(c) { prompted(c); },
  inputs(c) { prompts.drop(c.task_id); },
};

const listeners = new Set();

/** Calls told with each change, until the returned function is called. */
export function onChange(told) {
  listeners.add(told);
  return () => listeners.delete(told);
}

function change(text) {
  let update;
  try { update = JSON.parse(text); } catch { return; }
  if (!update.change) return;
  own(apply, update.type)?.(update.change);
  for (const told of listeners) told(update);
}

function seen(news) {
  setClock(news.time);
  for (const [id, last_seen] of Object.entries(news.seen ?? {})) {
    const agent = agents.rows.get(id);
    if (agent) agents.put(id, { ...agent, last_seen });
  }
  for (const [id, doing] of Object.entries(news.now ?? {})) {
    const agent = agents.rows.get(id);
    if (agent) agents.put(id, { ...agent, now: doing });
  }
  seenLive(news);
  for (const run of news.runs ?? []) {
    lastSeen.set(run.id, run);
    if (!final(runs.rows.get(run.id)?.status)) apply.runs({ ...run, owner: run.owner ?? {} });
  }
  for (const attempt of news.attempts ?? []) details.get(attempt.run)?.doing(attempt);
}

let waiting = null; // messages that arrived while the state is being loaded; else null
let pause = 1000;
let retry;

// sync loads the whole state and then applies the changes that arrived meanwhile. If
// another sync has started since, this one stops, because the other has newer answers.
async function sync() {
  clearTimeout(retry);
  const mine = waiting = [];
  try {
    const all = await everything();
    if (waiting !== mine) return;
    await fill(all);
    pause = 1000;
  } catch (e) {
    if (waiting === mine && e.status !== 401) retry = setTimeout(sync, pause = Math.min(10_000, pause * 2));
    return;
  }
  if (waiting !== mine) return;
  for (const apply of mine) apply();
  waiting = null;
}

/** Loads the state and keeps it up to date. Call it once. */
export function begin() {
  onReturn(() => { for (const d of details.values()) if (d.error.value) d.load(); });
  follow((told) => {
    if (told.kind === 'hello') {
      const { time } = JSON.parse(told.data);
      if (time) setClock(time);
      if (told.gap || !loaded.value) sync();
      return;
    }
    if (told.name === 'seen') {
      const news = JSON.parse(told.data);
      seen(news);
      waiting?.push(() => seenLive(news)); // the list of attempts that is being loaded may be older
    } else if (waiting) waiting.push(() => change(told.data));
    else change(told.data);
  });
}
