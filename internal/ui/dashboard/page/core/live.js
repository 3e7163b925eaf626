// The running attempts of all runs: what their agents do now. They are loaded with the
// state of the fleet. Changes of tasks start and end them; the stream's "seen" messages
// say what they do.
import { Table } from './table.js';

/** Running attempts by id, each with its run, task, agent, model and branch. @type {Table<any>} */
export const live = new Table();

// Attempts that have ended, with their branches. A "seen" message may be older than the
// change that ended an attempt, and must not bring it back.
const ended = new Map();
const keptEnded = 2_000;

function end(id) {
  if (!ended.has(id)) ended.set(id, live.rows.get(id)?.branch ?? '');
  live.drop(id);
  if (ended.size > keptEnded) ended.delete(ended.keys().next().value);
}

/** Whether an attempt that has ended worked on a branch of its own. @param {string|undefined} id */
export const hadBranch = (id) => Boolean(ended.get(id));

function put(row) {
  if (!ended.has(row.id)) live.put(row.id, row);
}

/** Replaces all attempts by those that the server has just listed. @param {any[]} list */
export function fillLive(list) {
  live.fill((list ?? []).filter((row) => !ended.has(row.id)).map((row) => [row.id, row]));
}

/** Applies a "seen" message. @param {{whole?: boolean, attempts?: any[], ended?: string[]}} news */
export function seenLive(news) {
  if (news.whole) fillLive(news.attempts);
  else for (const row of news.attempts ?? []) put(row);
  for (const id of news.ended ?? []) end(id);
}

/** Applies a change of a run's task. @param {any} t a fleet.Task with its last attempt */
export function taskLive(t) {
  const a = t.attempt;
  if (!a) return;
  if (t.status !== 'running' || a.ended) return end(a.id);
  put({ ...live.rows.get(a.id), ...a, run: t.run, task: t.id, task_name: t.name, agent: t.agent || live.rows.get(a.id)?.agent || 'claude', model: t.model, branch: t.branch || live.rows.get(a.id)?.branch });
}

/** Applies a change of an attempt. @param {any} a */
export function attemptLive(a) {
  const before = live.rows.get(a.id);
  if (a.ended) end(a.id);
  else if (before) put({ ...before, ...a });
}
