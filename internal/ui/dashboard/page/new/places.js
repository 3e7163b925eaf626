// Where a new run can be executed: in a folder of the server's machine, or by workers.
import { get, path } from '../core/api.js';
import { base } from '../parts/project.js';
import { html, signal } from '../core/view.js';
import { draft, edit } from './draft.js';

/** @type {import('../core/view.js').Signal<any>} */
export const places = signal(null);
/** The reason why the places are not known. */
export const problem = signal('');

/** The agents of a folder's project, by its path. @type {import('../core/view.js').Signal<Record<string, any[]>>} */
const programs = signal({});
/** Models that runs have used, the most used first. */
export const models = signal([]);

/** Loads the places, and chooses one if the draft names none that exists. */
export async function loadPlaces() {
  try {
    places.value = (await get('/v1/places')).places;
    problem.value = '';
  } catch (e) {
    problem.value = e.message;
    return;
  }
  if (exists(draft.value.place)) return;
  const { folders, workers } = places.value;
  const folder = folders.find((f) => f.active) ?? folders[0];
  if (places.value.refused && workers.length) edit({ place: { project: workers[0].project, workers: true, on: '' } });
  else if (folder) edit({ place: { project: folder.path, workers: false, on: '' } });
  else if (workers.length) edit({ place: { project: workers[0].project, workers: true, on: '' } });
}

/** Whether a run can be executed in this place. Before the places are loaded, each place counts as one that exists. */
export function exists({ project, workers }) {
  if (!places.value) return true;
  return workers ? places.value.workers.some((w) => w.project === project) : places.value.folders.some((f) => f.path === project);
}

/** Loads the names of models that runs have used. They are only suggestions, so an error does not matter. */
export async function loadModels() {
  const { report } = await get('/v1/report').catch(() => ({}));
  const groups = report?.by_model ?? report?.statistics?.by_model ?? [];
  models.value = [...groups].sort((a, b) => (b.count ?? 0) - (a.count ?? 0)).map((m) => m.model ?? m.name).filter((m) => m && m !== 'unknown').slice(0, 30);
}

/** Loads which agents the machine has for a folder's project. @param {string} project */
export async function loadPrograms(project) {
  try {
    const { programs: list } = await get(path`/v1/programs?project=${project}`);
    programs.value = { ...programs.value, [project]: list };
  } catch { /* the check of the draft says what is missing */ }
}

/** The agents of the chosen place; null if they are not known yet. */
export function programsOf({ project, workers, on }) {
  if (!workers) return programs.value[project] ?? null;
  const found = new Map();
  for (const w of workersOf(project)) {
    if (on && w.name !== on) continue;
    for (const p of w.programs ?? []) {
      if (w.agents?.length && !w.agents.includes(p.name)) continue;
      if (!found.has(p.name) || (found.get(p.name).problem && !p.problem)) found.set(p.name, p);
    }
  }
  return [...found.values()];
}

/** @param {string} project */
export const workersOf = (project) => places.value?.workers.find((w) => w.project === project)?.workers ?? [];

/** The choice of the project and, for workers, of one of them. */
export function Place() {
  const { folders, workers, machine } = places.value;
  const { place } = draft.value;
  const choose = (e) => {
    const [kind, project] = JSON.parse(e.currentTarget.value);
    edit({ place: { project, workers: kind === 'workers', on: '' } });
  };
  const twice = (name) => folders.filter((f) => f.name === name).length > 1;
  return html`<div class="place new-fields">
    <label class="new-field">Project<select value=${JSON.stringify([place.workers ? 'workers' : 'here', place.project])} onChange=${choose}>
      ${folders.length > 0 && html`<optgroup label=${`On ${machine}`}>${folders.map((f) => html`<option key=${f.path} value=${JSON.stringify(['here', f.path])} disabled=${Boolean(places.value.refused)}>${f.name}${twice(f.name) || f.name !== base(f.path) ? ` — ${f.path}` : ''}</option>`)}</optgroup>`}
      ${workers.length > 0 && html`<optgroup label="On workers">${workers.map((w) => html`<option key=${w.project} value=${JSON.stringify(['workers', w.project])}>${w.project} — ${w.workers.map((one) => one.name).slice(0, 3).join(', ')}</option>`)}</optgroup>`}
    </select></label>
    ${place.workers && html`<label class="new-field">Worker<select value=${place.on} onChange=${(e) => edit({ place: { ...place, on: e.currentTarget.value } })}>
      <option value="">any of the project</option>${[...new Set([...workersOf(place.project).map((w) => w.name), ...(place.on ? [place.on] : [])])].map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>`}
    <p class="where faint">${place.workers ? 'The workers of the project run it.' : html`A gaffer in the background runs it in <code>${place.project}</code>.`}</p>
  </div>`;
}
