// The data of a task's page: the task from its run, plus its prompt and all attempts.
import { get, path } from '../core/api.js';
import { onChange, releaseRun, watchRun } from '../core/fleet.js';
import { onReturn } from '../core/stream.js';
import { Table } from '../core/table.js';
import { signal, useLayoutEffect, useMemo } from '../core/view.js';

export class Source {
  /** @param {string} run @param {string} task */
  constructor(run, task) {
    Object.assign(this, { run, task, url: path`/v1/runs/${run}/tasks/${task}` });
    this.prompt = signal('');
    this.error = signal('');
    /** Attempts by id. @type {Table<any>} */
    this.attempts = new Table();
    /** For each request in progress, the changes that arrived since it was sent. @type {Set<any[]>} */
    this.late = new Set();
  }

  open() {
    this.detail = watchRun(this.run);
    this.forget = onChange((update) => this.hear(update));
    const unfollow = onReturn(() => { if (this.error.value) this.load(); });
    this.load();
    return () => { this.forget(); unfollow(); releaseRun(this.detail); };
  }

  // The answer may be older than the changes that arrived during the request. So these
  // changes are applied again after it.
  async load() {
    const late = [];
    this.late.add(late);
    try {
      const [{ task }, { attempts }] = await Promise.all([get(this.url), get(`${this.url}/attempts`)]);
      this.prompt.value = task.prompt ?? '';
      this.attempts.fill((attempts ?? []).map((a) => [a.id, a]));
      this.error.value = '';
    } catch (e) {
      this.error.value = e.message;
    } finally {
      this.late.delete(late);
      for (const update of late) this.hear(update);
    }
  }

  hear(update) {
    for (const late of this.late) late.push(update);
    const { type, change: c } = update;
    if (type === 'attempts' && c.run === this.run && c.task === this.task) this.attempts.put(c.id, { ...this.attempts.rows.get(c.id), ...c });
    if (type === 'tasks' && c.run === this.run && c.id === this.task && c.attempt) this.attempts.put(c.attempt.id, c.attempt);
  }
}

/** @param {string} run @param {string} task @returns {Source} */
export function useTask(run, task) {
  const source = useMemo(() => new Source(run, task), [run, task]);
  const undo = useMemo(() => source.open(), [source]);
  useLayoutEffect(() => undo, [undo]); // a layout effect, because it is also needed if the page is left before it is painted
  return source;
}

/** The direct and indirect dependents of a task, in the order of the plan. @param {any[]} tasks @param {string} id */
export function waiting(tasks, id) {
  const found = new Set([id]);
  for (let grown = true; grown;) {
    grown = false;
    for (const t of tasks) {
      if (!found.has(t.id) && (t.after ?? []).some((a) => found.has(a))) { found.add(t.id); grown = true; }
    }
  }
  found.delete(id);
  return tasks.filter((t) => found.has(t.id));
}
