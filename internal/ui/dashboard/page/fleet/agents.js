// The live agents of the fleet as rows: the agents of running attempts, agents that users
// have started by hand, and agents of the coordinator protocol.
import { agents, online, prompts, questions, runs, tasks } from '../core/fleet.js';
import { live } from '../core/live.js';
import { link } from '../core/route.js';
import { text } from '../core/words.js';
import { line } from '../run/task.js';

/**
 * One live agent. question is the row of its open question, if it has one; used is the
 * used part of its context in percent, where the size of the context is known.
 * @typedef {{id: string, kind: 'attempt'|'hand'|'protocol', state: string, name: string, href?: string, program: string, account?: string, stands?: string, model: string, number: number,
 *   doing: string, said?: string, source: string, run: string, runName: string, task: string, branch: string, dir: string, worker: string, machine: string,
 *   started: string, usd: number, tokens: number, used?: number, contextTokens: number, question?: any}} Agent
 */

/** The states of an agent, those that need the user first. */
export const states = ['waiting', 'offline', 'retrying', 'running', 'idle'];

/** The words of the states that differ from their names. */
export const wordOf = (state) => (state === 'offline' ? 'no contact' : state);

const isObject = (v) => v !== null && typeof v === 'object';

/** The meta data of a worker or agent, which may be of any type. @param {any} a */
export const metaOf = (a) => (isObject(a?.meta) && !Array.isArray(a.meta) ? a.meta : {});

/** A value from outside if it is a number, else 0. @param {unknown} value */
export const number = (value) => (typeof value === 'number' && Number.isFinite(value) ? value : 0);

/** Whether a row of the workers' table is a worker of gaffer, which runs agents and is none. @param {any} a */
export const isWorker = (a) => metaOf(a).program === 'gaffer';

/** The rows of the last call, with what each was made from. @type {Map<string, {from: any[], row: Agent}>} */
let made = new Map();

// row returns the same object as in the last call if nothing has changed that it was made
// from, so that unchanged rows are not drawn again.
function row(next, id, from, make) {
  const before = made.get(id);
  const same = before && before.from.length === from.length && before.from.every((v, i) => v === from[i]);
  const entry = same ? before : { from, row: make() };
  next.set(id, entry);
  return entry.row;
}

/** All live agents, in no particular order. @returns {Agent[]} */
export function liveAgents() {
  const next = new Map();
  const asked = openByAgent();
  const list = [];
  for (const a of live.all()) {
    const worker = agents.get(a.worker);
    const question = asked.get(`${a.run}/${a.task}`);
    const run = runs.get(a.run);
    const gone = Boolean(run?.owner?.gone || (worker && !online(worker)));
    const name = run?.name;
    list.push(row(next, a.id, [a, worker?.name, worker?.meta, gone, question, name], () => ofAttempt(a, worker, gone, question, name)));
  }
  for (const a of agents.all()) {
    if (isWorker(a) || !online(a)) continue;
    const byHand = metaOf(a).by_hand === true;
    const question = byHand ? asked.get(a.name) : asked.get(a.id);
    const task = byHand ? undefined : tasks.get(a.current_task_id);
    list.push(row(next, a.id, [a.name, a.claude_status, a.current_task_id, a.meta, a.now, a.created_at, question, task], () => (byHand ? ofHand(a, question) : ofProtocol(a, task, question))));
  }
  made = next;
  return list;
}

/** The text of a question, of a run or of a protocol agent. @param {any} q */
export const questionText = (q) => text(q?.text ?? q?.payload?.text ?? q?.payload?.question ?? q?.payload?.prompt);

// openByAgent returns the open questions: of tasks by RUN/TASK, of agents by hand by their
// names, and of the protocol's agents by their ids.
function openByAgent() {
  const found = new Map();
  for (const q of questions.all()) {
    const key = q.run ? `${q.run}/${q.task}` : text(q.task);
    if (!found.has(key)) found.set(key, q);
  }
  for (const event of prompts.all()) {
    const agent = agents.get(event.agent_id);
    if (agent?.claude_status === 'waiting' && agent.current_task_id === event.task_id) found.set(agent.id, event);
  }
  return found;
}

function ofAttempt(a, worker, gone, question, name) {
  const waiting = question || a.state === 'waiting' || a.waiting_since;
  const context = isObject(a.context) ? a.context : {};
  return {
    id: a.id, kind: 'attempt', state: waiting ? 'waiting' : gone ? 'offline' : a.state === 'retrying' ? 'retrying' : 'running',
    name: text(a.task_name) || text(a.task), href: link('runs', text(a.run), 'tasks', text(a.task)), program: text(a.fallback) || text(a.agent), account: text(a.account), stands: a.fallback ? text(a.agent) : '', model: a.fallback ? '' : text(a.model), number: a.number,
    doing: line(a.doing), said: a.said ?? a.started, source: text(a.source), run: text(a.run), runName: text(name ?? a.run_name) || text(a.run), task: text(a.task),
    branch: text(a.branch), dir: '', worker: text(a.worker), machine: machineOf(worker, a), started: a.started, usd: number(a.spent?.usd), tokens: number(a.spent?.tokens),
    used: number(context.window) > 0 ? Math.min(100, Math.round(number(context.tokens) * 100 / context.window)) : undefined, contextTokens: number(context.tokens), question,
  };
}

// A run of the server's machine has a worker of its own, whose id is that of the run.
const machineOf = (worker, a) => text(metaOf(worker).host) || text(worker?.name) || (a.worker === a.run ? 'this server' : text(a.worker));

function ofHand(a, question) {
  const meta = metaOf(a);
  const dir = text(meta.dir);
  return {
    ...plain(a, question), kind: 'hand', program: text(meta.program), model: text(meta.model), dir, source: text(meta.source), machine: text(meta.host) || 'this server',
    doing: line(meta.for) || line(meta.error) || line(a.now?.doing) || line(meta.loop), usd: number(a.now?.cost_usd), used: number(meta.context) > 0 ? Math.min(100, Math.round(meta.context)) : undefined,
  };
}

function ofProtocol(a, task, question) {
  const meta = metaOf(a);
  return { ...plain(a, question), kind: 'protocol', program: text(meta.program) || 'agent', model: text(meta.model), machine: text(meta.host) || text(a.name), doing: line(a.now?.doing), task: text(task?.title ?? a.current_task_id), source: 'reported by the agent' };
}

const plain = (a, question) => ({
  id: a.id, state: question ? 'waiting' : ['running', 'waiting'].includes(a.claude_status) ? a.claude_status : 'idle', name: text(a.name), number: 0, said: a.claude_status_at, run: '', runName: '', task: '',
  branch: '', dir: '', worker: a.id, started: a.created_at, usd: 0, tokens: 0, contextTokens: 0, question,
});

/** All texts of an agent, in lower case, for a filter. @param {Agent} a */
export const searchText = (a) => [a.name, a.task, a.program, a.model, a.runName, a.run, a.branch, a.dir, a.machine, a.doing, questionText(a.question), wordOf(a.state), a.kind === 'hand' ? 'by hand' : ''].join(' ').toLowerCase();
