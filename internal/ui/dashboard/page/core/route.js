// The address selects what is shown, for example #/runs/ID?view=graph. So an address
// can be shared, and the browser's back button works.
import { signal } from './view.js';

const read = () => {
  const [path, query = ''] = location.hash.replace(/^#/, '').split('?');
  return { path: path.split('/').filter(Boolean).map(decode), query: new URLSearchParams(query) };
};

function decode(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

export const route = signal(read());
let known = location.hash; // the address that route was read from
addEventListener('hashchange', update);

function update() {
  known = location.hash;
  route.value = read();
}

/**
 * Reads the address if the user has just navigated and the event for that is not here yet. A key
 * belongs to the page at the address, also if that page is not drawn yet.
 */
export function catchUp() {
  if (location.hash !== known) update();
}

/** An address: link('runs', id). @param {...string} parts */
export const link = (...parts) => `#/${parts.map(encodeURIComponent).join('/')}`;

/** Navigates to another address. @param {string} to */
export const go = (to) => { location.hash = to; };

/** A value of the address's query. @param {string} name */
export const query = (name, otherwise = '') => route.value.query.get(name) ?? otherwise;

/**
 * Changes the query without a new entry in the browser's history. If the user has just navigated,
 * and the event for that is not here yet, it changes nothing: the values belong to the page that
 * the user leaves. @param {Record<string, string>} values empty values are removed */
export function setQuery(values) {
  if (location.hash !== known) return;
  const q = new URLSearchParams(route.value.query);
  for (const [name, value] of Object.entries(values)) value ? q.set(name, value) : q.delete(name);
  const text = q.toString();
  history.replaceState(null, '', link(...route.value.path) + (text && `?${text}`));
  update();
}
