// What waits for the user besides questions: paused accounts, runs without a process, and
// changes to review.
import { path, send } from '../core/api.js';
import { lanes, runs, self } from '../core/fleet.js';
import { link } from '../core/route.js';
import { at, now, tick } from '../core/time.js';
import { html } from '../core/view.js';
import { budgetLane, final, many, text } from '../core/words.js';
import { attempt } from '../parts/dialog.js';
import { Status, Until } from '../parts/status.js';
import { reviews, useReviews } from './reviews.js';

/** Agent accounts that are paused, and until when. */
export function Lanes() {
  tick.value;
  const paused = lanes.all().filter((l) => at(l.until) > now());
  if (!paused.length) return null;
  return html`<section aria-label="Paused accounts" class="lanes">${paused.map((l) => budgetLane(l) ? html`<p key=${l.name}>
    <${Status} of="paused" /> No agent starts: ${text(l.reason)}; more <${Until} time=${l.until} /></p>` : html`<p key=${l.name}>
    <${Status} of="paused" /> The account of <b>${l.name}</b> goes on <${Until} time=${l.until} /><span class="faint">${l.reason === 'rate_limited' ? ', after a rate limit' : l.reason && `: ${l.reason}`}</span></p>`)}</section>`;
}

/** Runs that need the user. */
export function Attention() {
  useReviews();
  const all = runs.all().sort((a, b) => at(b.created) - at(a.created));
  const orphans = all.filter((r) => !final(r.status) && r.owner?.gone);
  const toReview = all.map((r) => [r, reviews.get(r.id)]).filter(([, a]) => a && waiting(a) > 0);
  if (!orphans.length && !toReview.length) return null;
  return html`<section class="attention" aria-label="Needs you"><h2>Needs you</h2><ul>
    ${orphans.map((r) => html`<li key=${`orphan ${r.id}`}><${Status} of="offline" word="no process" /><a class="name" href=${link('runs', r.id)}><bdi>${nameOf(r)}</bdi></a>
      <span class="faint">No gaffer works on this run: no task starts, and no answer reaches an agent.</span>${self.value.role !== 'viewer' && html`<button onClick=${() => resume(r)}>Resume</button>`}</li>`)}
    ${toReview.map(([r, a]) => html`<li key=${`review ${r.id}`}><${Status} of="blocked" word="to review" /><a class="name" href=${link('runs', r.id)}><bdi>${nameOf(r)}</bdi></a>
      <span class="faint">${saidOf(a)}</span>${firstOf(a) && html`<a class="button" href=${link('runs', r.id, 'tasks', firstOf(a), 'review')}>Review ${firstOf(a)}</a>`}</li>`)}
  </ul></section>`;
}

const nameOf = (r) => text(r.name) || text(r.id);
const resume = (r) => attempt(`Resumed: ${nameOf(r)}`, () => send(path`/v1/runs/${r.id}/resume`));

// The changes that wait for a decision of the user.
const waiting = (a) => (a.ready || 0) + (a.commented || 0) + (a.conflicts || 0);

function saidOf(a) {
  const parts = [[a.ready, 'ready to merge'], [a.commented, 'with comments that were not sent'], [a.conflicts, 'in conflict']].filter(([n]) => n > 0);
  return `${many(waiting(a), 'change')}: ${parts.map(([n, word]) => `${n} ${word}`).join(', ')}`;
}

const firstOf = (a) => ['open', 'commented', 'approved'].map((s) => a.reviews?.find((r) => r.state === s)?.task).find(Boolean);
