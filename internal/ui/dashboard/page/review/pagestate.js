// The user's input on the review page: the cursor, the marked lines, the open form, the
// layout.
import { kept } from '../core/prefs.js';
import { signal } from '../core/view.js';

/** unified or split. */
export const layout = kept('diff', 'unified');

/**
 * @typedef {{path: string, key: string, side: 'old'|'new'}} Cursor key is the key of a row, or empty for the file's head
 * @typedef {{path: string, side: 'old'|'new', first: number, last: number, tree: string, lines: string}} Place first is 0 for the whole file; path is empty for the whole change
 */
export class Desk {
  /** @param {string} id of the task, under which unsaved text is stored */
  constructor(id) {
    this.id = `gaffer.comment.${id}`;
    /** @type {import('../core/view.js').Signal<Cursor|null>} */
    this.cursor = signal(null);
    /** The marked lines, on one side of one file. */
    this.marked = signal(null);
    /** The place of the open comment form. @type {import('../core/view.js').Signal<Place|null>} */
    this.form = signal(null);
    /** The path of the file at the top of the window. */
    this.current = signal('');
    /** Set by the diff while it is shown. */
    this.view = null;
  }

  /** The unsaved text for a place, which survives a reload. @param {Place} place */
  unsaved(place) {
    try { return sessionStorage.getItem(this.name(place)) ?? ''; } catch { return ''; }
  }

  /** @param {Place} place @param {string} text */
  keep(place, text) {
    try {
      if (text) sessionStorage.setItem(this.name(place), text);
      else sessionStorage.removeItem(this.name(place));
    } catch { /* storage is disabled: the text is lost with the page */ }
  }

  name(place) { return `${this.id} ${place.path} ${place.side} ${place.first}-${place.last}`; }
}
