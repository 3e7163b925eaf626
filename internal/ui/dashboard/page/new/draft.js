// The run that the user is about to start. It survives a reload of the page: the browser
// keeps it until it is started, or the tab is closed.
import { get, newId, path, send } from '../core/api.js';
import { computed, effect, signal } from '../core/view.js';

/**
 * @typedef {object} Candidate
 * @property {string} agent empty for the form's agent
 * @property {string} model
 *
 * @typedef {object} FormFields every number is a text, as in its input
 * @property {string[]} prompts
 * @property {string} agent
 * @property {string} model
 * @property {string} bestOf
 * @property {Candidate[]} candidates
 * @property {string} pick
 * @property {string[]} verify
 * @property {boolean} worktree
 * @property {string} land
 * @property {string} into
 * @property {string} budget
 * @property {string} parallel
 * @property {string} retries
 * @property {string} timeout
 * @property {string} onFailure
 * @property {string} questions
 *
 * @typedef {object} Draft
 * @property {{project: string, workers: boolean, on: string}} place
 * @property {'form'|'plan'} mode
 * @property {FormFields} form
 * @property {string} text the text of the plan
 * @property {string} file the name of the file that the text comes from
 * @property {string} from what the text is, for the user
 * @property {string[]} notes what the text lacks
 * @property {string} key the id of the request that starts the run; empty before the first try
 */

/** @returns {FormFields} */
const emptyForm = () => ({
  prompts: [''], agent: '', model: '', bestOf: '', candidates: [], pick: '', verify: [], worktree: false, land: '', into: '',
  budget: '', parallel: '', retries: '', timeout: '', onFailure: '', questions: '',
});

/** @returns {Draft} */
const empty = () => ({ place: { project: '', workers: false, on: '' }, mode: 'form', form: emptyForm(), text: '', file: '', from: '', notes: [], key: '' });

const stored = 'gaffer.new-run';

function restore() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(stored) ?? '{}');
    const made = empty();
    return { ...made, ...kept, place: { ...made.place, ...kept.place }, form: { ...made.form, ...kept.form } };
  } catch {
    return empty();
  }
}

/** @type {import('../core/view.js').Signal<Draft>} */
export const draft = signal(restore());
effect(() => { try { sessionStorage.setItem(stored, JSON.stringify(draft.value)); } catch { /* storage is full or disabled: the draft is lost with the page */ } });

/** Changes the draft. A changed draft is another run, so it gets a new id. @param {Partial<Draft>} change */
export const edit = (change) => { draft.value = { ...draft.value, key: '', ...change }; };
/** @param {Partial<FormFields>} change */
export const editForm = (change) => edit({ form: { ...draft.value.form, ...change } });
/** Forgets everything but the project. */
export const clear = () => edit({ ...empty(), place: draft.value.place });

/** Whether the user has entered something. */
export const touched = () => { const { form, text } = draft.value; return Boolean(text) || JSON.stringify(form) !== JSON.stringify(emptyForm()); };

/** Replaces the draft by the text of a plan. @param {{text: string, file?: string, from: string, notes?: string[], place?: Draft['place']}} plan */
export const usePlan = ({ text, file = '', from, notes = [], place = draft.value.place }) => edit({ mode: 'plan', text, file, from, notes, place });

const number = (text) => (text.trim() === '' ? undefined : Number(text));

/** How many agents do each prompt. @param {FormFields} f */
export const bestOf = (f) => Math.max(0, Math.min(16, Number(f.bestOf) || 0));

/** The form as the server takes it. @param {FormFields} f */
export function formBody(f) {
  const n = bestOf(f);
  const chosen = f.candidates.slice(0, n).some((c) => c.agent || c.model);
  const candidates = chosen ? Array.from({ length: n }, (_, i) => {
    const { agent, model } = f.candidates[i] ?? {};
    return (agent || f.agent || 'claude') + (model ? `:${model.trim()}` : '');
  }) : [];
  const trees = f.worktree || n > 1;
  return {
    prompts: f.prompts.filter((p) => p.trim()), agent: f.agent, model: f.model.trim(), best_of: n > 1 ? n : 0, candidates: n > 1 ? candidates : [], pick: n > 1 ? f.pick : '',
    verify: f.verify.map((v) => v.trim()).filter(Boolean), worktree: f.worktree && n < 2, land: trees ? f.land : '', into: trees ? f.into.trim() : '',
    budget: number(f.budget), parallel: number(f.parallel), retries: number(f.retries), timeout: f.timeout.trim(), on_failure: f.onFailure, questions: f.questions,
  };
}

/** The fields for a form of the server. @returns {FormFields} */
export function fieldsOf(body) {
  const shown = (n) => (n ? String(n) : '');
  const split = (text) => { const at = text.indexOf(':'); return at < 0 ? { agent: text, model: '' } : { agent: text.slice(0, at), model: text.slice(at + 1) }; };
  return {
    ...emptyForm(), prompts: body.prompts?.length ? body.prompts : [''], agent: body.agent ?? '', model: body.model ?? '', bestOf: shown(body.best_of), candidates: (body.candidates ?? []).map(split), pick: body.pick ?? '',
    verify: body.verify ?? [], worktree: Boolean(body.worktree), land: body.land ?? '', into: body.into ?? '',
    budget: shown(body.budget), parallel: shown(body.parallel), retries: shown(body.retries), timeout: body.timeout ?? '', onFailure: body.on_failure ?? '', questions: body.questions ?? '',
  };
}

/** What the server is asked to check or to start; undefined if there is nothing yet. */
export const body = computed(() => {
  const { place, mode, form, text, file } = draft.value;
  if (!place.project) return undefined;
  if (mode === 'plan') return text.trim() ? { ...place, text, file } : undefined;
  return form.prompts.some((p) => p.trim()) ? { ...place, form: formBody(form) } : undefined;
});

/**
 * The last check: of is the body that was checked, check the answer, error the reason why
 * there is none. The check is current if of is the current body.
 * @type {import('../core/view.js').Signal<{of: any, check: any, error: string}>}
 */
export const checked = signal({ of: undefined, check: null, error: '' });
/** The last check of a plan without problems, which the graph shows while the user types. */
export const drawn = signal(null);
/** Whether the last check is of the draft as it is. */
export const current = computed(() => JSON.stringify(checked.value.of) === JSON.stringify(body.value));

const pause = 300; // milliseconds without typing before a check
const again = 1500; // milliseconds before the next try if the server was busy or away

/** Checks the draft after every change, until the returned function is called. */
export function keepChecking() {
  let timer;
  let request;
  const check = async (of) => {
    request?.abort();
    request = new AbortController();
    try {
      const { check: answer } = await send('/v1/plans/check', of, 'POST', request.signal);
      checked.value = { of, check: answer, error: '' };
      if (answer.valid || !drawn.value) drawn.value = answer;
    } catch (e) {
      if (e.name === 'AbortError') return;
      checked.value = { of, check: null, error: e.message };
      if (!e.status || e.status === 429 || e.status === 503) timer = setTimeout(() => check(of), again);
    }
  };
  let before;
  const stop = effect(() => {
    const of = body.value;
    const text = JSON.stringify(of);
    if (text === before) return;
    const first = before === undefined;
    before = text;
    clearTimeout(timer);
    request?.abort();
    if (of) timer = setTimeout(() => check(of), first ? 0 : pause);
    else { checked.value = { of, check: null, error: '' }; drawn.value = null; }
  });
  return () => { stop(); clearTimeout(timer); request?.abort(); };
}

/** Starts the run and returns the server's answer. After a lost answer the same request is sent again, so there is one run. */
export async function start() {
  const key = draft.value.key || newId();
  draft.value = { ...draft.value, key };
  const answer = await send('/v1/plans/start', { ...body.value, key });
  clear();
  return answer;
}

/** The text of a project's plan file. @param {string} project @param {string} file */
export const planFile = async (project, file) => (await get(path`/v1/plans/file?project=${project}&path=${file}`)).plan;
/** The plan of a past run as a text. @param {string} run */
export const planOfRun = async (run) => (await get(path`/v1/runs/${run}/plan/text`)).plan;
