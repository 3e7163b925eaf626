// Computes the state of a run after each of its changes.

const every = 500; // changes between two stored states

/** @typedef {{id: string, type: string, time: string, change: any}} Change */

// Apply a change to the state, by the change's type.
const folds = {
  runs(state, c) { state.run = { ...state.run, ...c, tasks: undefined }; },
  tasks(state, c) {
    const before = state.tasks.get(c.id);
    state.tasks.set(c.id, { ...c, attempt: c.attempt ?? before?.attempt, question: c.status === 'running' ? before?.question : undefined });
  },
  attempts(state, c) {
    const task = state.tasks.get(c.task);
    if (task && (task.attempt?.number ?? 0) <= c.number) state.tasks.set(c.task, { ...task, attempt: c });
  },
  questions(state, c) {
    const task = state.tasks.get(c.task);
    if (task) state.tasks.set(c.task, { ...task, question: c.closed ? undefined : c });
  },
};

const fold = (state, { type, change }) => { if (change && Object.hasOwn(folds, type)) folds[type](state, change); };
const copy = ({ n, run, tasks }) => ({ n, run, tasks: new Map(tasks) });

/** All changes of a run, and the run's state after any number of them. */
export class Past {
  constructor() {
    /** @type {Change[]} */
    this.changes = [];
    this.end = { n: 0, run: null, tasks: new Map() };
    this.kept = [copy(this.end)];
    this.cursor = copy(this.end);
    this.begun = 0;
  }

  /** @param {Change[]} more the next changes, in order */
  add(more) {
    for (const change of more) {
      this.changes.push(change);
      fold(this.end, change);
      if (++this.end.n % every === 0) this.kept.push(copy(this.end));
    }
    this.begun = submitted(this.changes);
  }

  /** The number of moments. The first moment is the submission of all tasks. */
  get moments() { return this.changes.length - this.begun + (this.begun ? 1 : 0); }

  /** The last change of a moment. @param {number} moment from 1 @returns {Change|undefined} */
  changeOf(moment) { return this.changes[this.folded(moment) - 1]; }

  folded(moment) { return Math.max(0, Math.min(this.changes.length, this.begun + moment - 1)); }

  /**
   * Returns the run's state at a moment. The object is valid until the next call.
   * @param {number} moment
   * @returns {{n: number, run: any, tasks: Map<string, any>}}
   */
  at(moment) {
    const n = this.folded(moment);
    const near = this.kept[Math.floor(n / every)];
    if (this.cursor.n > n || this.cursor.n < near.n) this.cursor = copy(near);
    while (this.cursor.n < n) fold(this.cursor, this.changes[this.cursor.n++]);
    return this.cursor;
  }
}

// submitted returns the number of changes of the submission: the run and its tasks.
function submitted(changes) {
  const time = changes[0]?.time;
  const first = changes.findIndex((c) => c.time !== time || (c.type === 'tasks' && c.change?.status !== 'queued') || (c.type !== 'runs' && c.type !== 'tasks'));
  return first < 0 ? changes.length : Math.max(1, first);
}
