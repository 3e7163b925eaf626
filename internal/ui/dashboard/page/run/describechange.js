// Describes a change of a run in words.
import { own, text } from '../core/words.js';
import { line, whyCancelled } from './task.js';

const ends = { complete: 'is complete', failed: 'failed', cancelled: 'was cancelled' };
// Whether a rule, a grant or the policy of the task has answered, and not a user.
const byRule = (by) => /^(rule|grant|policy) /.test(text(by));
const because = (why) => (line(why) ? `: ${line(why)}` : '');

/**
 * Returns what happened, to which task, and who did it.
 * @param {import('./fold.js').Change|undefined} change
 * @param {(id: unknown) => string} worker returns the name of a worker
 * @returns {{state: string, task: string, what: string, who: string}}
 */
export function story(change, worker) {
  const c = change?.change ?? {};
  const tell = own(tellers, change?.type);
  return { state: '', task: '', what: text(change?.type), who: '', ...tell?.(c, worker) };
}

const tellers = {
  runs(c) {
    if (own(ends, c.status)) return { state: c.status, what: `the run ${ends[c.status]}` };
    return { state: 'running', what: c.stopping ? `the run stops: ${text(c.stopping)}` : 'the run was submitted or goes on' };
  },
  tasks(c, worker) {
    const a = c.attempt ?? {};
    const said = { state: text(c.status), task: text(c.id), who: c.tries > 0 ? worker(a.worker) : '' };
    if (c.status === 'running') return { ...said, what: `started${c.tries > 1 ? `, attempt ${c.tries}` : ''}` };
    if (c.status === 'queued') return { ...said, what: c.tries > 0 ? `attempt ${text(a.number)} failed${c.outcome && c.outcome !== 'failed' ? ` (${text(c.outcome)})` : ''}, queued again${because(a.summary)}` : 'queued' };
    if (c.status === 'cancelled') return { ...said, what: `was cancelled${because(whyCancelled(c))}` };
    return { ...said, what: `${own(ends, c.status) ?? text(c.status)}${because(a.summary || c.outcome)}` };
  },
  attempts(c, worker) {
    return { state: c.state === 'waiting' ? 'waiting' : text(c.status), task: text(c.task), what: line(c.doing) || `is ${text(c.state) || text(c.status)}`, who: worker(c.worker) };
  },
  questions(c) {
    const said = { state: 'waiting', task: text(c.task) };
    if (!c.closed) return { ...said, what: `asks: ${line(c.text)}` };
    if (c.tool && byRule(c.by)) return { ...said, state: 'running', what: `asks: ${line(c.text)}: ${c.denied ? 'denied' : 'allowed'}`, who: text(c.by) };
    if (c.denied) return { ...said, state: 'running', what: `was denied${because(c.answer)}`, who: text(c.by) };
    return { ...said, state: 'running', what: c.answered ? `was answered: ${line(c.answer)}` : 'no longer waits for an answer', who: text(c.by) };
  },
};
