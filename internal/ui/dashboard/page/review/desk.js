// What the user does on the review page: the place of the cursor, the marked lines, the
// open form, the layout.
import { kept } from '../core/prefs.js';
import { signal } from '../core/view.js';

/** unified or split. */
export const layout = kept('diff', 'unified');

/**
 * @typedef {{path: string, key: string, side: 'old'|'new'}} Cursor key is that of a row, or empty for the file's head
 * @typedef {{path: string, side: 'old'|'new', first: number, last: number, tree: string, lines: string}} Place first is 0 for the whole file; path is empty for the whole change
 */
export class Desk {
  /** @param {string} id of the task: unsaved text is kept by it */
  constructor(id) {
    this.id = `gaffer.comment.${id}`;
    /** @type {import('../core/view.js').Signal<Cursor|null>} */
    this.cursor = signal(null);
    /** Lines that are marked: one side of one file. */
    this.marked = signal(null);
    /** Where a comment is being written. @type {import('../core/view.js').Signal<Place|null>} */
    this.form = signal(null);
    /** The path of the file at the top of the window. */
    this.current = signal('');
    /** Set by the diff while it is shown. */
    this.view = null;
  }

  /** Text that was written for a place and not saved, also after a reload. @param {Place} place */
  unsaved(place) {
    try { return sessionStorage.getItem(this.name(place)) ?? ''; } catch { return ''; }
  }

  /** @param {Place} place @param {string} text */
  keep(place, text) {
    try {
      if (text) sessionStorage.setItem(this.name(place), text);
      else sessionStorage.removeItem(this.name(place));
    } catch { /* it is kept while the form is open */ }
  }

  name(place) { return `${this.id} ${place.path} ${place.side} ${place.first}-${place.last}`; }
}
