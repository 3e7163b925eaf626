// What happens in the fleet that a user wants to hear of: an agent asks, a run ends.
import { loaded, runs } from './fleet.js';
import { link } from './route.js';
import { at, now } from './time.js';
import { effect, untracked } from './view.js';
import { final, many, text } from './words.js';

/**
 * id: the same event has the same id in all tabs.
 * @typedef {{id: string, title: string, body: string, href: string, kind: 'question'|'ended'}} Happening
 */

/**
 * Calls tell with each event, from now on. Call it once.
 * @param {() => any[]} openQuestions
 * @param {(what: Happening) => void} tell
 */
export function watchEvents(openQuestions, tell) {
  watchQuestions(openQuestions, tell);
  watchRuns(tell);
}

function watchQuestions(openQuestions, tell) {
  /** The ids of the open questions; null before they are loaded. @type {Set<string>|null} */
  let known = null;
  effect(() => {
    if (!loaded.value) return;
    const list = openQuestions();
    const before = known;
    known = new Set(list.map((q) => q.id));
    if (!before) return;
    for (const q of list) {
      if (!before.has(q.id)) untracked(() => tell({ id: `question ${q.id}`, kind: 'question', title: `${text(q.where)} asks`, body: text(q.text), href: q.href ?? '#/' }));
    }
  });
}

function watchRuns(tell) {
  /** The last known status of each run; null before the runs are loaded. @type {Map<string, string>|null} */
  let known = null;
  let since = 0;
  effect(() => {
    if (!loaded.value) return;
    const before = known;
    const list = runs.all();
    known = new Map(list.map((r) => [r.id, r.status]));
    if (!before) since = now();
    for (const r of before ? list : []) {
      const was = before.get(r.id);
      if (final(r.status) && was !== r.status && (was || at(r.ended) > since)) untracked(() => tell(ended(r)));
    }
  });
}

function ended(run) {
  const { complete = 0, failed = 0, total = 0 } = run.counts ?? {};
  const body = `${complete} of ${many(total, 'task')} complete${failed ? `, ${failed} failed` : ''}`;
  return { id: `run ${run.id} ${run.status}`, kind: 'ended', title: `${text(run.name) || text(run.id)}: ${run.status}`, body, href: link('runs', run.id) };
}
