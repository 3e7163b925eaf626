import { signal, batch } from './view.js';

/** Tables that have changed since the last frame. @type {Set<Table<any>>} */
const touched = new Set();
let planned = false;

function flush() {
  planned = false;
  batch(() => {
    for (const t of touched) t.version.value++;
    touched.clear();
  });
}

// Readers of a table are drawn at most once per frame, or once per second while the
// page is hidden.
function touch(table) {
  touched.add(table);
  if (planned) return;
  planned = true;
  if (document.hidden) setTimeout(flush, 1000);
  else requestAnimationFrame(flush);
}

// A hidden page gets no frames, not even one that was requested before.
document.addEventListener('visibilitychange', () => { if (document.hidden && planned) setTimeout(flush, 1000); });

/**
 * Rows by id. A row is replaced, never modified. Components that read the table are
 * drawn again after a change.
 * @template R
 */
export class Table {
  constructor() {
    /** @type {Map<string, R>} */
    this.rows = new Map();
    this.version = signal(0);
  }
  /** @param {string} id */
  get(id) { this.version.value; return this.rows.get(id); }
  /** All rows, in the order in which they were added. */
  all() { this.version.value; return [...this.rows.values()]; }
  get size() { this.version.value; return this.rows.size; }
  /** @param {string} id @param {R} row */
  put(id, row) { this.rows.set(id, row); touch(this); }
  /** @param {string} id */
  drop(id) { if (this.rows.delete(id)) touch(this); }
  /** Replaces all rows. @param {[string, R][]} pairs */
  fill(pairs) { this.rows = new Map(pairs); touch(this); }
}
