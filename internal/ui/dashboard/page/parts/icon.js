// The icons of the frame: lines in the colour of the text, 20 pixels wide.
import { html } from '../core/view.js';
import { own } from '../core/words.js';

const paths = {
  fleet: 'M3.5 4.5h5v5h-5z M11.5 4.5h5v5h-5z M3.5 12.5h5v3h-5z M11.5 12.5h5v3h-5z',
  runs: 'M3.5 5h2 M8.5 5h8 M3.5 10h2 M8.5 10h8 M3.5 15h2 M8.5 15h8',
  projects: 'M3 6.5a1.5 1.5 0 0 1 1.5-1.5h3.4l1.6 2h6a1.5 1.5 0 0 1 1.5 1.5v5.5a1.5 1.5 0 0 1-1.5 1.5h-11a1.5 1.5 0 0 1-1.5-1.5z',
  cost: 'M4 16V10 M8 16V4.5 M12 16V8 M16 16v-4',
  report: 'M3.5 15.5h13 M6 15.5a4 4 0 0 1 8 0 M10 4.5v3 M4.5 8.5l1.8 1.6 M15.5 8.5l-1.8 1.6',
  records: 'M5.5 3.5h6l3 3v10h-9z M8 9.5h4.5 M8 12.5h4.5',
  workers: 'M3.5 4.5h13v4.5h-13z M3.5 11h13v4.5h-13z M6 6.8h.01 M6 13.3h.01',
  new: 'M10 4v12 M4 10h12',
  search: 'M9 3.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11z M13 13l3.5 3.5',
  more: 'M4.5 10h.01 M10 10h.01 M15.5 10h.01',
};

/** @param {{of: string}} props the name of a page, or of an action */
export const Icon = ({ of }) => html`<svg class="icon" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" fill="none" stroke="currentColor" stroke-width=${of === 'more' ? 2.4 : 1.7} stroke-linecap="round" stroke-linejoin="round"><path d=${own(paths, of) ?? ''} /></svg>`;
