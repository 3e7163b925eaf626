// The title of the document: the number of open questions, what the page shows, gaffer.
// The browser shows it in tabs, in the history and in bookmarks.
import { Mounted } from './mounted.js';
import { effect, signal, useLayoutEffect } from './view.js';

/** @type {Mounted<string>} */
const titles = new Mounted();
const shown = signal('');

/** The number of open questions, which the title shows. */
export const waiting = signal(0);

effect(() => {
  const count = waiting.value ? `(${waiting.value}) ` : '';
  document.title = count + (shown.value ? `${shown.value} · gaffer` : 'gaffer');
});

/**
 * Sets the title while a component is shown. The text of an inner component replaces that
 * of an outer one.
 * @param {string} text what the page shows, such as the name of a run
 */
export function useTitle(text) {
  titles.use(text);
  useLayoutEffect(() => {
    const update = () => { shown.value = titles.all()[0] ?? ''; };
    update();
    return update;
  }, [text]);
}
