// The state of the reviews of a run's changes, with a link to the next one to review.
import { get, path } from '../core/api.js';
import { onChange } from '../core/fleet.js';
import { link } from '../core/route.js';
import { onReturn } from '../core/stream.js';
import { html, useEffect, useState } from '../core/view.js';
import { many } from '../core/words.js';

const order = ['open', 'commented', 'approved', 'sent_back']; // the order in which the user should look at them

/**
 * Summarizes the changes in one line. Pure.
 * @param {any} a a fleet.RunReviews
 */
export function summaryOf(a) {
  const parts = [[a.ready, 'ready to merge'], [a.commented, 'with comments'], [a.sent_back, 'sent back'], [a.conflicts, `${a.conflicts > 1 ? 'conflict' : 'conflicts'} with ${a.into || 'the target branch'}`], [a.merged, 'merged'], [a.discarded, 'discarded']].filter(([n]) => n > 0);
  const others = a.changes - parts.reduce((sum, [n]) => sum + n, 0);
  if (others > 0) parts.push([others, 'not ready']);
  return `${many(a.changes, 'change')}: ${parts.map(([n, word]) => `${n} ${word}`).join(', ')}`;
}

/** @param {{run: any}} props */
export function Changes({ run }) {
  const [answer, setAnswer] = useState(null);
  useEffect(() => {
    let over = false;
    let timer = 0;
    const load = () => get(path`/v1/runs/${run.id}/reviews`).then((a) => { if (!over) setAnswer(a); }, () => { /* without an answer there is no summary */ });
    load();
    const forget = onChange(({ type, change: c }) => {
      if (c.run !== run.id || (type !== 'reviews' && type !== 'tasks')) return;
      clearTimeout(timer); // many tasks may end at once
      timer = setTimeout(load, 1_000);
    });
    const unfollow = onReturn((again) => { if (again) load(); });
    return () => { over = true; clearTimeout(timer); forget(); unfollow(); };
  }, [run.id]);
  if (!answer?.changes) return null;
  const first = order.map((s) => answer.reviews.find((r) => r.state === s)).find(Boolean);
  return html`<p class="changes">${summaryOf(answer)}${first && html` <a class="button" href=${link('runs', run.id, 'tasks', first.task, 'review')}>Review ${first.task}</a>`}</p>`;
}
