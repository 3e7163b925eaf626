// Which runs have changes that wait for the user. The server compares branches to answer
// that, so the page asks only about the latest runs, one after the other, and again only
// after a change. A team merges its changes itself.
import { get, path } from '../core/api.js';
import { loaded, onChange, runs } from '../core/fleet.js';
import { hadBranch } from '../core/live.js';
import { onReturn } from '../core/stream.js';
import { Table } from '../core/table.js';
import { at } from '../core/time.js';
import { useEffect } from '../core/view.js';
import { final } from '../core/words.js';

/** The answers about runs, by the run's id: a fleet.RunReviews. @type {Table<any>} */
export const reviews = new Table();

const latest = 12; // how many runs it asks about
const pause = 5_000; // milliseconds between two questions about the same run

/** Runs to ask about, and when it asked about each. */
const due = new Set();
const asked = new Map();
let shown = false; // whether a page shows the answers
let busy = false;
let timer = 0;

async function next() {
  clearTimeout(timer);
  timer = 0;
  if (busy) return;
  busy = true;
  for (const id of [...due]) {
    if (!shown) break;
    if (Date.now() - (asked.get(id) ?? 0) < pause) continue;
    due.delete(id);
    asked.set(id, Date.now());
    try {
      reviews.put(id, await get(path`/v1/runs/${id}/reviews`));
    } catch (e) {
      if (e.status === 0) due.add(id); // the server was away
      else reviews.drop(id); // this server has no changes, or no longer has the run
    }
  }
  busy = false;
  if (shown && due.size) timer = setTimeout(next, pause);
}

/** Keeps the answers up to date while a page shows them. */
export function useReviews() {
  const ready = loaded.value;
  useEffect(() => {
    if (!ready) return undefined;
    shown = true;
    const wanted = () => runs.all().filter((r) => !r.team).sort((a, b) => at(b.created) - at(a.created)).slice(0, latest).map((r) => r.id);
    const all = () => { for (const id of wanted()) due.add(id); next(); };
    const start = setTimeout(all, 500); // after the first view of the page
    const forget = onChange(({ type, change: c }) => {
      const id = type === 'runs' ? c.id : c.run;
      const matters = type === 'reviews' || (type === 'runs' && c.ended) || (type === 'tasks' && final(c.status) && (c.branch || hadBranch(c.attempt?.id)));
      if (!matters || !id || runs.rows.get(id)?.team) return;
      due.add(id);
      timer ||= setTimeout(next, 1_000); // many tasks may end at once
    });
    const unfollow = onReturn((again) => { if (again) all(); });
    return () => { shown = false; clearTimeout(start); clearTimeout(timer); timer = 0; forget(); unfollow(); };
  }, [ready]);
}
