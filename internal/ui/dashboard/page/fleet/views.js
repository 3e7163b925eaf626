// Saved views of the list of agents: names for filters, groups and orders. They are stored
// in this browser.
import { kept } from '../core/prefs.js';
import { computed } from '../core/view.js';

const stored = kept('fleet.views', '[]');
const most = 50;

/** The saved views. @type {{value: {name: string, query: string}[]}} */
export const views = computed(() => parse(stored.value));

function parse(text) {
  try {
    const list = JSON.parse(text);
    return (Array.isArray(list) ? list : []).filter((v) => typeof v?.name === 'string' && v.name && typeof v.query === 'string').slice(0, most);
  } catch {
    return [];
  }
}

const store = (list) => { stored.value = JSON.stringify(list); };

// Another tab of this browser has changed the views.
addEventListener('storage', (e) => { if (e.key === 'gaffer.fleet.views') stored.value = e.newValue ?? '[]'; });

/** Saves a view. A view with the same name is replaced. @param {string} name @param {string} query the part of the address after the question mark */
export const saveView = (name, query) => store([...views.value.filter((v) => v.name !== name), { name, query }].slice(-most));

/** Deletes a view. @param {string} name @returns {() => void} a function that brings it back */
export function deleteView(name) {
  const before = views.value;
  store(before.filter((v) => v.name !== name));
  return () => {
    const view = before.find((v) => v.name === name);
    if (view && !views.value.some((v) => v.name === name)) store([...views.value.slice(0, before.indexOf(view)), view, ...views.value.slice(before.indexOf(view))]);
  };
}
