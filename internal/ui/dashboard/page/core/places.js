// The pages that the navigation and the keys lead to. A page is listed if the dashboard
// has it.
import { signal } from './view.js';

/** name: as in app.js; at: first part of the address; key: the key after g. @typedef {{name: string, title: string, href: string, at: string, key: string}} Place */

/** @type {Place[]} */
const all = [
  { name: 'fleet', title: 'Fleet', href: '#/', at: '', key: 'f' },
  { name: 'runs', title: 'Runs', href: '#/runs', at: 'runs', key: 'r' },
  { name: 'projects', title: 'Projects', href: '#/projects', at: 'projects', key: 'p' },
  { name: 'schedules', title: 'Schedules', href: '#/schedules', at: 'schedules', key: 'h' },
  { name: 'cost', title: 'Cost', href: '#/cost', at: 'cost', key: 'c' },
  { name: 'report', title: 'Report', href: '#/report', at: 'report', key: 'm' },
  { name: 'records', title: 'Records', href: '#/records', at: 'records', key: 'e' },
  { name: 'workers', title: 'Workers', href: '#/workers', at: 'workers', key: 'w' },
];

/** The names of all pages, set by app.js. @type {import('@preact/signals').Signal<string[]>} */
export const pages = signal(['fleet']);

/** The places of the navigation. */
export const places = () => all.filter((p) => pages.value.includes(p.name));

/** Whether there is a page with this name. @param {string} name */
export const hasPage = (name) => pages.value.includes(name);

/** The address one level above a path, or '' for the start page. @param {string[]} path */
export function parentOf(path) {
  const [first, ...rest] = path;
  if (!first) return '';
  if (first === 'runs' && rest.length > 1) return address(rest.length > 3 ? path.slice(0, 4) : path.slice(0, 2));
  if (first === 'projects' && rest.length > 2) return address(path.slice(0, 3));
  return rest.length ? address([first]) : '#/';
}

const address = (path) => `#/${path.map(encodeURIComponent).join('/')}`;
