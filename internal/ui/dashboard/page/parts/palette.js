// The command palette: finds runs, tasks, projects and actions by a few letters.
import { get, path } from '../core/api.js';
import { commands } from '../core/commands.js';
import { runs } from '../core/fleet.js';
import { score } from '../core/fuzzy.js';
import { kept } from '../core/prefs.js';
import { go, link } from '../core/route.js';
import { at } from '../core/time.js';
import { html, signal, useEffect, useLayoutEffect, useRef, useState } from '../core/view.js';
import { final, text } from '../core/words.js';
import { Status } from './status.js';

/** An entry: href leads to a page, run does something. @typedef {{id: string, section: string, title: string, hint?: string, status?: string, keys?: string, href?: string, run?: () => void}} Entry */

const shown = signal(false);

/** Opens the palette, or closes it. */
export const toggle = () => { shown.value = !shown.value; };

const most = 40; // entries that are shown
const mostRecent = 6;

/** The entries that were used last, the latest first. @type {import('@preact/signals').Signal<string>} */
const recent = kept('recent', '[]');

/** @returns {Entry[]} */
function remembered() {
  try {
    const list = JSON.parse(recent.value);
    return Array.isArray(list) ? list.filter((e) => typeof e?.id === 'string' && typeof e.title === 'string') : [];
  } catch { return []; }
}

function remember({ run, ...entry }) {
  recent.value = JSON.stringify([entry, ...remembered().filter((e) => e.id !== entry.id)].slice(0, 20));
}

/** The entries that need no request: actions and runs. @returns {Entry[]} */
function local() {
  const actions = commands().map((c) => ({ section: 'On this page', ...c, id: `do ${c.id}` }));
  const list = [...runs.rows.values()].sort((a, b) => Number(final(a.status)) - Number(final(b.status)) || at(b.created) - at(a.created));
  return [...actions, ...list.map((r) => ({ id: `run ${r.id}`, section: 'Runs', title: text(r.name) || r.id, hint: r.id, status: text(r.status), href: link('runs', r.id) }))];
}

const projectEntry = (p) => ({ id: `project ${p.path}`, section: 'Projects', title: text(p.name), hint: text(p.path), href: link('projects', p.path, 'build') });
const taskEntry = (h) => ({ id: `task ${h.run}/${h.task}`, section: 'Tasks', title: text(h.name) && h.name !== h.task ? `${h.task} ${text(h.name)}` : h.task, hint: text(h.run_name) || h.run, status: text(h.status), href: link('runs', h.run, 'tasks', h.task) });

const groups = ['Recent', 'On this page', 'Runs', 'Go to', 'Projects', 'Settings'];
const mostRuns = 8; // without a query

/** Without a query: what was used last, then what the page can do, runs, pages. @param {Entry[]} all */
function suggested(all) {
  const known = new Map(all.map((e) => [e.id, e]));
  const last = remembered().map((e) => known.get(e.id) ?? e).filter((e) => e.run || e.href).slice(0, mostRecent);
  const used = new Set(last.map((e) => e.id));
  const rest = all.filter((e) => !used.has(e.id));
  const by = (section) => (section === 'Recent' ? last.map((e) => ({ ...e, section })) : rest.filter((e) => e.section === section).slice(0, section === 'Runs' ? mostRuns : most));
  return groups.flatMap(by);
}

/** @param {Entry[]} all @param {string} query */
function ranked(all, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const used = new Map(remembered().map((e, i) => [e.id, 30 - i]));
  const found = [];
  for (const entry of all) {
    const fits = Math.max(score(entry.title, words), score(`${entry.title} ${entry.hint ?? ''}`, words) - 30);
    if (fits > 0) found.push({ entry, fits: fits + (used.get(entry.id) ?? 0) });
  }
  return found.sort((a, b) => b.fits - a.fits).slice(0, most).map((f) => f.entry);
}

/** The tasks that the server finds. @param {string} query */
function useTasks(query) {
  const [found, setFound] = useState({ query: '', list: [], error: '' });
  useEffect(() => {
    if (query.length < 2) return setFound({ query, list: [], error: '' });
    const left = new AbortController();
    const timer = setTimeout(() => {
      get(path`/v1/search?q=${query.slice(0, 60)}&limit=30`, left.signal).then(
        ({ hits }) => setFound({ query, list: hits.filter((h) => h.task), error: '' }),
        (e) => { if (e.name !== 'AbortError') setFound({ query, list: [], error: e.message }); });
    }, 120);
    return () => { clearTimeout(timer); left.abort(); };
  }, [query]);
  return found;
}

function useProjects() {
  const [list, setList] = useState([]);
  useEffect(() => { get('/api/projects').then((all) => setList(all ?? []), () => { /* a server without a viewer has no projects */ }); }, []);
  return list;
}

export function Palette() {
  return shown.value && html`<${Open} />`;
}

function Open() {
  const ref = useRef(null);
  const [query, setQuery] = useState('');
  const [at, setAt] = useState(0);
  const [all] = useState(local); // as they are when the palette opens, so that entries do not move
  const tasks = useTasks(query.trim());
  const projects = useProjects();
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog.showModal();
    return () => dialog.close(); // gives the focus back
  }, []);

  const every = [...all, ...projects.map(projectEntry)];
  const words = query.trim();
  const list = words ? ranked([...every, ...tasks.list.map(taskEntry)], words) : suggested(every);
  if (words) list.push({ id: `search ${words}`, section: 'Search', title: `Search for “${words}” in prompts and results`, href: `#/search?q=${encodeURIComponent(words)}` });
  const here = Math.min(at, list.length - 1);
  useEffect(() => { ref.current.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' }); }, [here, query]);

  const close = () => { shown.value = false; };
  const choose = (entry) => {
    close();
    if (entry.section !== 'Search') remember(entry);
    if (entry.href) go(entry.href);
    else entry.run();
  };
  const key = (e) => {
    const to = { ArrowDown: (here + 1) % list.length, ArrowUp: (here - 1 + list.length) % list.length, PageDown: Math.min(list.length - 1, here + 8), PageUp: Math.max(0, here - 8) }[e.key];
    if (to !== undefined) setAt(to);
    else if (e.key === 'Enter' && list[here]) choose(list[here]);
    else return;
    e.preventDefault();
  };
  const waits = words.length > 1 && tasks.query !== words;
  return html`<dialog ref=${ref} class="palette" aria-label="Find" onCancel=${close} onClick=${(e) => { if (e.target === ref.current) close(); }}>
    <input type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-autocomplete="list" aria-activedescendant=${`palette-${here}`} aria-label="Find a run, a task, a project or an action"
      placeholder="Find a run, a task, a project or an action" autofocus autocomplete="off" spellcheck="false" value=${query} onInput=${(e) => { setQuery(e.currentTarget.value); setAt(0); }} onKeyDown=${key} />
    <ul id="palette-list" role="listbox" aria-label="Found">${list.map((entry, i) => html`<${Line} key=${entry.id} entry=${entry} index=${i} here=${i === here} typed=${Boolean(words)} head=${!words && entry.section !== list[i - 1]?.section} choose=${choose} point=${setAt} />`)}</ul>
    <p class="foot faint" role="status">${tasks.error ? `Tasks were not searched: ${tasks.error}` : waits ? 'Searching tasks…' : html`<kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>Enter</kbd> open <kbd>Esc</kbd> close`}</p>
  </dialog>`;
}

const kinds = { Runs: 'Run', Tasks: 'Task', Projects: 'Project', Search: 'Search' };

function Line({ entry, index, here, typed, head, choose, point }) {
  return html`${head && html`<li class="head" role="presentation">${entry.section}</li>`}
    <li id=${`palette-${index}`} role="option" aria-selected=${here} onClick=${() => choose(entry)} onPointerMove=${() => { if (!here) point(index); }}>
      ${typed && html`<span class="kind">${kinds[entry.section] ?? 'Action'}</span>`}
      <span class="title"><bdi>${entry.title}</bdi></span>
      ${entry.hint && html`<span class="beside faint"><bdi>${entry.hint}</bdi></span>`}
      <span class="space"></span>
      ${entry.status && html`<${Status} of=${entry.status} />`}
      ${entry.keys && html`<span class="shortcut">${entry.keys.split(' ').map((k) => html`<kbd key=${k}>${k}</kbd>`)}</span>`}
    </li>`;
}
