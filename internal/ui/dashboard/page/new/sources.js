// What a plan can start from: a file of this computer, a plan file of the project, a past run.
import { get, path } from '../core/api.js';
import { runs } from '../core/fleet.js';
import { html, useEffect, useRef, useState } from '../core/view.js';
import { bytes, final, text } from '../core/words.js';
import { confirm } from '../parts/dialog.js';
import { toast } from '../parts/toast.js';
import { draft, planFile, planOfRun, touched, usePlan } from './draft.js';
import { exists } from './places.js';

const most = 4 << 20; // bytes of a plan

// replace loads a plan and replaces the draft by it. It asks first if the user would lose a text.
async function replace(what, load) {
  if (touched() && await confirm({ title: 'Replace what you have written?', text: `The draft of this run is replaced by ${what}.`, action: 'Replace' }) === null) return false;
  try {
    usePlan(await load());
    return true;
  } catch (e) {
    toast(e.message, { mood: 'bad' });
    return false;
  }
}

/** Takes the text of a file of this computer. @param {File} file */
export function takeFile(file) {
  return replace(file.name, async () => {
    if (file.size > most) throw new Error(`${file.name} has ${bytes(file.size)}; a plan has ${bytes(most)} at most.`);
    const said = await file.text();
    if (said.includes('\0')) throw new Error(`${file.name} is not a text.`);
    return { text: said, file: file.name, from: file.name };
  });
}

/** Takes the plan of a past run. @param {string} id */
export function takeRun(id) {
  const name = text(runs.get(id)?.name) || id;
  return replace(`the plan of ${name}`, async () => {
    const plan = await planOfRun(id);
    const place = { project: plan.project ?? '', workers: Boolean(plan.workers), on: plan.on ?? '' };
    return { text: plan.text, from: `the plan of ${name}`, notes: plan.notes, place: exists(place) ? place : draft.value.place };
  });
}

/** The sources of a plan, side by side. */
export function Sources() {
  const input = useRef(null);
  const choose = async (e) => {
    const [file] = e.currentTarget.files;
    e.currentTarget.value = '';
    if (file) await takeFile(file);
  };
  return html`<div class="sources">
    <button type="button" onClick=${() => input.current.click()}>Upload a file…</button>
    <input ref=${input} type="file" class="hidden" tabindex="-1" aria-label="Plan file to upload" accept=".yaml,.yml,.json,.md,.txt" onChange=${choose} />
    <${Files} />
    <${Past} />
    <span class="faint">or paste one, or drop a file here</span>
  </div>`;
}

function Files() {
  const { project, workers } = draft.value.place;
  const [plans, setPlans] = useState(null);
  const [error, setError] = useState('');
  useEffect(() => {
    setPlans(null);
    setError('');
    if (!project || workers) return undefined;
    const stop = new AbortController();
    get(path`/v1/plans?project=${project}`, stop.signal).then(({ plans: found }) => setPlans(found), (e) => { if (e.name !== 'AbortError') setError(e.message); });
    return () => stop.abort();
  }, [project, workers]);
  const choose = (e) => {
    const file = e.currentTarget.value;
    e.currentTarget.value = '';
    if (file) replace(file, async () => ({ ...await planFile(project, file), from: file }));
  };
  const first = workers ? 'The project’s files are on its workers' : error || (!plans ? 'Looking for plans…' : plans.paths.length ? 'A plan of the project…' : 'The project has no plan files');
  return html`<select aria-label="Plan of the project" disabled=${!plans?.paths.length} title=${error || undefined} onChange=${choose}>
    <option value="">${first}</option>
    ${(plans?.paths ?? []).map((p) => html`<option key=${p} value=${p}>${p}</option>`)}
    ${plans?.more && html`<option disabled>and others</option>`}</select>`;
}

const shown = 50;

function Past() {
  const list = runs.all().slice().sort((a, b) => (a.created < b.created ? 1 : -1)).slice(0, shown);
  const choose = (e) => {
    const id = e.currentTarget.value;
    e.currentTarget.value = '';
    if (id) takeRun(id);
  };
  return html`<select aria-label="Past run to start from" disabled=${!list.length} onChange=${choose}>
    <option value="">${list.length ? 'A past run…' : 'There is no run yet'}</option>
    ${list.map((r) => html`<option key=${r.id} value=${r.id}>${text(r.name) || r.id} — ${final(r.status) ? r.status : 'running'}, ${r.counts?.total ?? '?'} tasks</option>`)}</select>`;
}

/** Where the text of the plan comes from. */
export function Origin() {
  const { from, notes, file } = draft.value;
  if (!from) return null;
  return html`<p class="origin faint">Begun from ${file && file === from ? html`<code>${from}</code>` : from}.${notes.map((n) => ` ${n}`)}</p>`;
}

