// The entry module: shows the page that the address selects.
import { html, render, signal, useEffect } from './core/view.js';
import { begin, loaded, runs } from './core/fleet.js';
import { pages } from './core/places.js';
import { route } from './core/route.js';
import { onReturn } from './core/stream.js';
import { useTitle } from './core/title.js';
import { own, text } from './core/words.js';
import { announce } from './parts/announce.js';
import { Shell } from './parts/shell.js';
import { Empty, Wrong } from './parts/status.js';
import { Fleet } from './pages/fleet.js';

// Modules of pages, loaded when the page is first shown.
const later = {
  new: () => import('./pages/new.js'),
  runs: () => import('./pages/runs.js'),
  run: () => import('./pages/run.js'),
  task: () => import('./pages/task.js'),
  review: () => import('./pages/review.js'),
  replay: () => import('./pages/replay.js'),
  projects: () => import('./pages/projects.js'),
  build: () => import('./pages/build.js'),
  team: () => import('./pages/team.js'),
  sessions: () => import('./pages/sessions.js'),
  records: () => import('./pages/records.js'),
  cost: () => import('./pages/cost.js'),
  report: () => import('./pages/report.js'),
  schedules: () => import('./pages/schedules.js'),
  search: () => import('./pages/search.js'),
  workers: () => import('./pages/workers.js'),
};

/** Returns the name of the page for an address, and the page's props. @param {string[]} path */
function pageOf([first, ...rest]) {
  if (!first) return ['fleet', {}];
  if (['new', 'records', 'cost', 'report', 'schedules', 'search', 'workers'].includes(first)) return [first, {}];
  if (first === 'runs') {
    const [run, what, task, part] = rest;
    if (!run) return ['runs', {}];
    if (what === 'tasks' && task) return [part === 'review' ? 'review' : 'task', { run, task }];
    return [what === 'replay' ? 'replay' : 'run', { run }];
  }
  if (first === 'projects') {
    const [project, what, id] = rest;
    return project ? [own({ team: 'team', sessions: 'sessions' }, what) ?? 'build', { project, id }] : ['projects', {}];
  }
  return ['nowhere', {}];
}

/** The title of a page that sets no title of its own. @param {string} name @param {any} about the page's props */
function titleOf(name, { run, task, project, id }) {
  const runName = text(runs.get(run)?.name) || run;
  const last = project?.split('/').filter(Boolean).pop();
  const titles = {
    run: runName, replay: `Replay · ${runName}`, task: `${task} · ${runName}`, review: `Review ${task} · ${runName}`,
    build: `Build · ${last}`, team: `Team · ${last}`, sessions: `${id ?? 'Sessions'} · ${last}`, new: 'New run', nowhere: 'No such page',
  };
  return own(titles, name) ?? name[0].toUpperCase() + name.slice(1);
}

const fetched = signal({ fleet: Fleet, nowhere: () => html`<${Empty} title="There is no such page."><a href="#/">To the fleet</a><//>` });
const failed = signal('');

function Page() {
  const [name, about] = pageOf(route.value.path);
  const Shown = fetched.value[name];
  useTitle(titleOf(name, about));
  useEffect(() => {
    if (Shown) return;
    later[name]().then(
      (m) => { fetched.value = { ...fetched.value, [name]: m.Page }; failed.value = ''; },
      () => { failed.value = 'This page could not be loaded from the server.'; });
  }, [name, Shown]);
  useEffect(() => { scrollTo(0, 0); announce(titleOf(name, about)); }, [name, JSON.stringify(about)]);
  if (Shown && (loaded.value || name === 'nowhere')) return html`<${Shown} key=${JSON.stringify(about)} ...${about} />`;
  if (failed.value) return html`<${Wrong} message=${failed.value} />`;
  return html`<p class="starting">Loading…</p>`;
}

pages.value = ['fleet', ...Object.keys(later)];
begin();
onReturn((again) => { if (again && failed.value) location.reload(); }); // a browser may not ask twice for a module
const place = document.getElementById('app');
place.replaceChildren();
render(html`<${Shell}><${Page} /><//>`, place);
