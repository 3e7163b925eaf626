// The address says what is shown: #/runs/ID?view=graph. So it can be sent to
// somebody, and going back works.
import { signal } from './view.js';

const read = () => {
  const [path, query = ''] = location.hash.replace(/^#/, '').split('?');
  return { path: path.split('/').filter(Boolean).map(decode), query: new URLSearchParams(query) };
};

function decode(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

export const route = signal(read());
addEventListener('hashchange', () => { route.value = read(); });

/** An address: link('runs', id). @param {...string} parts */
export const link = (...parts) => `#/${parts.map(encodeURIComponent).join('/')}`;

/** Shows something else. @param {string} to */
export const go = (to) => { location.hash = to; };

/** What the query says. @param {string} name */
export const query = (name, otherwise = '') => route.value.query.get(name) ?? otherwise;

/** Changes the query, without a step to go back to. @param {Record<string, string>} values empty ones are left out */
export function setQuery(values) {
  const q = new URLSearchParams(route.value.query);
  for (const [name, value] of Object.entries(values)) value ? q.set(name, value) : q.delete(name);
  const text = q.toString();
  history.replaceState(null, '', link(...route.value.path) + (text && `?${text}`));
  route.value = read();
}
