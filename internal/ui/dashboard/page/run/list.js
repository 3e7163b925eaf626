// The tasks of a run as a list.
import { go, link } from '../core/route.js';
import { html, signal, useEffect, useRef } from '../core/view.js';
import { Rows } from '../parts/rows.js';
import { Columns, TaskRow } from './row.js';
import { waitsFor } from './task.js';

const small = matchMedia('(max-width: 700px)');
/** Whether the window is as narrow as a phone. */
export const narrow = signal(small.matches);
small.addEventListener('change', () => { narrow.value = small.matches; });

/** The task that was last opened from a list, to return to its row. */
let opened = { run: '', task: '' };

/**
 * @param {{run: string, shown: number[], structure: import('./structure.js').Structure, row: (id: string) => any, among: any, then?: number}} props
 * shown are indexes in the structure, in order; then is the shown time of a replay
 */
export function List({ run, shown, structure, row, among, then }) {
  const ref = useRef(null);
  const height = narrow.value ? 92 : 48;
  useEffect(() => returnTo(ref.current, run, shown.findIndex((i) => structure.ids[i] === opened.task), height), []);
  const open = (i) => { opened = { run, task: structure.ids[i] }; go(link('runs', run, 'tasks', structure.ids[i])); };
  const draw = (i, n) => {
    const t = row(structure.ids[i]);
    if (!t) return null;
    const first = n > 0 && structure.layers[shown[n - 1]] !== structure.layers[i];
    return html`<${TaskRow} t=${t} layer=${structure.layers[i]} first=${first} waits=${t.status === 'queued' ? waitsFor(t, among) : ''} then=${then} />`;
  };
  return html`<div ref=${ref} class="scroll t-rows" onClick=${(e) => noteLink(e, run)}><${Columns} />
    <${Rows} rows=${shown} height=${height} draw=${draw} id=${(i) => structure.ids[i]} open=${open} label="Tasks" /></div>`;
}

function noteLink(e, run) {
  const index = e.target.closest('.row')?.dataset.index;
  if (index !== undefined) opened = { run, task: e.target.closest('.row').querySelector('.c-task a')?.textContent ?? '' };
}

// After the user returns from a task's page, scrolls to the task's row and focuses it.
function returnTo(place, run, index, height) {
  if (opened.run !== run || index < 0) return undefined;
  const timer = setTimeout(() => {
    const rows = place.querySelector('.rows');
    const top = rows.getBoundingClientRect().top + scrollY + index * height;
    if (top + height > scrollY + innerHeight) scrollTo(0, top - innerHeight / 2);
    requestAnimationFrame(() => requestAnimationFrame(() => place.querySelector(`[data-index="${index}"]`)?.focus({ preventScroll: true })));
  }, 50);
  return () => clearTimeout(timer);
}
