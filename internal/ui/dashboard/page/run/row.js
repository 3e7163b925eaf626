// One row of the task list.
import { agents } from '../core/fleet.js';
import { link } from '../core/route.js';
import { at, now, span } from '../core/time.js';
import { count, money, text } from '../core/words.js';
import { html, memo } from '../core/view.js';
import { Ago, Lasting, Status, Until } from '../parts/status.js';
import { line, named, stateOf, tryOf, whyCancelled } from './task.js';

/** The name of a worker, or its id. @param {unknown} id */
export const workerName = (id) => text(agents.get(id)?.name ?? id);

/**
 * @param {{t: any, layer: number, first: boolean, waits: string, then?: number}} props
 * first: the task is the first of its stage; then: the shown time of a replay
 */
export const TaskRow = memo(({ t, layer, first, waits, then }) => {
  const a = t.attempt ?? {};
  const state = stateOf(t);
  return html`<div class=${`t-row ${first ? 'first' : ''}`}>
    <span class="c-status"><${Status} of=${state} /></span>
    <span class="c-task"><a href=${link('runs', text(t.run), 'tasks', text(t.id))} tabindex="-1"><bdi>${text(t.id)}</bdi></a>${named(t) && html`<span class="faint name"><bdi>${text(t.name)}</bdi></span>`}</span>
    <span class="c-wave faint"><span class="what">stage </span>${layer}</span>
    <span class="c-try">${t.tries > 0 && html`<span title=${`attempt ${tryOf(t).replace('/', ' of ')}`}><span class="what">attempt </span>${tryOf(t)}</span>`}</span>
    <span class="c-now"><${Now} t=${t} state=${state} waits=${waits} then=${then} /></span>
    <span class="c-worker faint"><bdi>${t.tries > 0 && workerName(a.worker)}</bdi></span>
    <span class="c-time">${t.tries > 0 && html`<${Taken} from=${a.started} to=${a.ended} then=${then} />`}</span>
    <span class="c-tokens">${a.spent?.tokens > 0 && html`${count(a.spent.tokens)}<span class="what"> tokens</span>`}</span>
    <span class="c-cost">${money(Number(a.spent?.usd) || 0)}</span>
  </div>`;
});

const Taken = ({ from, to, then }) => (then && !to ? html`<time>${span(then - at(from))}</time>` : html`<${Lasting} from=${from} to=${to} />`);

// What a task does now, or how it ended.
function Now({ t, state, waits, then }) {
  const a = t.attempt ?? {};
  if (state === 'waiting') return html`<span class="said asks">asks: ${line(t.question?.text) || 'something'}</span><${Since} time=${t.question?.asked ?? a.said} then=${then} />`;
  if (state === 'running') return html`<span class="said">${line(a.doing) || line(a.state) || 'started'}</span><${Since} time=${a.said ?? a.started} source=${a.source} then=${then} />`;
  if (state === 'failed') return html`<span class="said bad" title=${text(a.summary)}>${line(a.summary) || text(t.outcome) || 'failed'}</span><span class="faint by">${text(a.class || t.outcome)}</span>`;
  if (state === 'queued') return html`<span class="said faint">${waits}</span>${t.tries > 0 && html`<${Again} t=${t} then=${then} />`}`;
  return html`<span class="said faint" title=${text(a.summary)}>${state === 'complete' ? line(a.summary) : whyCancelled(t)}</span>`;
}

const Since = ({ time, source, then }) => html`<span class="faint by">${source && `${text(source)}, `}${then ? `${span(then - at(time))} before` : html`<${Ago} time=${time} />`}</span>`;

const Again = ({ t, then }) => html`<span class="faint by">↻ again ${!then && at(t.retry_at) > now() ? html`<${Until} time=${t.retry_at} /> ` : ''}after ${text(t.outcome) || 'a failure'}</span>`;

/** The headings of the columns. */
export const Columns = () => html`<div class="t-row heads" aria-hidden="true">
  <span class="c-status">Status</span><span class="c-task">Task</span><span class="c-wave">Stage</span><span class="c-try">Attempt</span><span class="c-now">Now</span>
  <span class="c-worker">Worker</span><span class="c-time">Time</span><span class="c-tokens">Tokens</span><span class="c-cost">Cost</span></div>`;
