// The state of the review, and what the user decides: send back, approve, merge, discard,
// undo.
import { send } from '../core/api.js';
import { html } from '../core/view.js';
import { many } from '../core/words.js';
import { confirm, say } from '../parts/dialog.js';
import { Ago } from '../parts/status.js';

const states = {
  open: ['queued', '○', 'to be reviewed'], commented: ['waiting', '✎', 'commented'], sent_back: ['running', '↩', 'sent back'],
  approved: ['complete', '✓', 'approved'], merged: ['complete', '⤵', 'merged'], discarded: ['cancelled', '⊘', 'discarded'],
};

/** @param {{state: string}} props */
export function ReviewState({ state }) {
  const [kind, sign, word] = Object.hasOwn(states, state) ? states[state] : ['other', '·', state];
  return html`<span class=${`status k-${kind}`}><span class="sign" aria-hidden="true">${sign}</span>${word}</span>`;
}

/** What the user may do with a review now. @param {any} review @param {any} task */
export function choices(review, task) {
  const drafts = (review?.comments ?? []).filter((c) => !c.round).length;
  const over = review?.state === 'merged' || review?.state === 'discarded';
  const busy = task.status === 'running' || task.status === 'queued';
  return {
    drafts,
    sendBack: over ? 'The review has ended.' : drafts ? '' : 'Write a comment first.',
    approve: over ? 'The review has ended.' : busy ? 'The agent is still at work.' : drafts ? 'Send your comments back, or delete them.' : review?.state === 'approved' ? 'It is approved.' : '',
    merge: over ? 'The review has ended.' : busy ? 'The agent is still at work.' : drafts ? 'Send your comments back, or delete them.' : '',
    discard: over ? 'The review has ended.' : busy ? 'The agent is still at work. Cancel the task first.' : '',
    undo: over || review?.landing ? '' : 'There is nothing to undo.',
  };
}

/**
 * The decisions, by name. Each resolves when it is done.
 * @param {import('./source.js').Source} source @param {any} task @param {import('../core/view.js').Signal<any>} result
 */
export function decisions(source, task, result) {
  const name = `${source.run}/${source.task}`;
  const run = async (doing, done, action) => {
    if (result.value?.doing) return;
    result.value = { doing };
    try {
      const answer = await action();
      const text = typeof done === 'function' ? done(answer) : done;
      result.value = { good: text };
      say(text);
    } catch (e) {
      result.value = { bad: e.message };
    }
    source.look();
  };
  const allowed = (what) => {
    const why = choices(source.review.value, task)[what];
    if (why) say(why, 'bad');
    return !why;
  };
  return {
    async sendBack() {
      if (!allowed('sendBack')) return;
      const { drafts } = choices(source.review.value, task);
      await run('Sending the comments…', `${many(drafts, 'comment')} sent. The agent goes on in the same conversation.`, () => source.act({ action: 'send_back', tree: source.change.value.tree }));
    },
    async approve() {
      if (!allowed('approve')) return;
      await run('Approving…', 'Approved.', () => source.act({ action: 'approve', tree: source.change.value.tree }));
    },
    async reopen() { await run('Opening the review again…', 'The review is open again.', () => source.act({ action: 'reopen' })); },
    async merge() {
      if (!allowed('merge')) return;
      const how = { into: '', method: '' };
      const text = html`<p>The change of <code>${name}</code> is merged in a folder of its own. Its checks run on the merged result. Only then the branch moves.</p>
        <label>Into <input type="text" maxlength="200" placeholder="the branch that the plan names" onInput=${(e) => { how.into = e.currentTarget.value.trim(); }} /></label>
        <label>How <select onChange=${(e) => { how.method = e.currentTarget.value; }}><option value="">as the plan says</option><option value="merge">with a merge commit</option><option value="squash">as one commit</option><option value="rebase">rebased</option></select></label>`;
      if (await confirm({ title: 'Merge this change?', text, action: 'Merge' }) === null) return;
      await run('Merging. The checks run on the merged result…', (a) => mergedText(a.review?.landing ?? a.landing), () => send(`${source.url}/merge`, Object.fromEntries(Object.entries(how).filter(([, v]) => v))));
    },
    async discard() {
      if (!allowed('discard')) return;
      const text = html`<p>The change of <code>${name}</code> is not merged. Its branch and its worktree are deleted. A copy is kept, so that you can undo this.</p>`;
      if (await confirm({ title: 'Discard this change?', text, action: 'Discard', danger: true }) === null) return;
      await run('Discarding…', 'Discarded. A copy is kept.', () => send(`${source.url}/discard`, {}));
    },
    async undo() {
      if (!allowed('undo')) return;
      const merged = source.review.value?.state !== 'discarded';
      const { into } = source.review.value?.landing ?? {};
      const text = merged ? html`<p><code>${into}</code> goes back to where it was before the merge of <code>${name}</code>.</p>` : html`<p>The branch of <code>${name}</code> is restored.</p>`;
      if (await confirm({ title: merged ? 'Undo the merge?' : 'Undo the discard?', text, action: 'Undo', danger: merged }) === null) return;
      await run('Undoing…', merged ? 'The merge is undone.' : 'The change is restored.', () => send(`${source.url}/undo`, {}));
    },
  };
}

const mergedText = (landing) => (landing ? `Merged into ${landing.into} as ${String(landing.after).slice(0, 9)}.` : 'Merged.');

/** @param {{source: import('./source.js').Source, task: any, may: boolean, act: any, result: any}} props */
export function Actions({ source, task, may, act, result }) {
  const review = source.review.value;
  const c = choices(review, task);
  const doing = Boolean(result.value?.doing);
  const over = review?.state === 'merged' || review?.state === 'discarded';
  const button = (word, what, look, key) => html`<button class=${look} disabled=${!may || doing || Boolean(c[what])} title=${!may ? 'Your login may only look.' : c[what] || (key && `Key: ${key}`)} onClick=${() => act[what]()}>${word}</button>`;
  if (over) return html`<span class="row-actions">${button(review.state === 'merged' ? 'Undo merge…' : 'Undo discard…', 'undo', '')}</span>`;
  return html`<span class="row-actions">
    ${button(c.drafts ? `Send back ${c.drafts}` : 'Send back', 'sendBack', c.drafts ? 'primary' : '', 's')}
    ${review?.state === 'approved' ? html`<button disabled=${!may || doing} onClick=${act.reopen}>Reopen</button>` : button('Approve', 'approve', c.drafts ? '' : 'primary', 'a')}
    ${button('Merge…', 'merge', review?.state === 'approved' ? 'primary' : '', 'm')}
    ${button('Discard…', 'discard', 'danger')}${review?.landing && button('Undo merge…', 'undo', '')}</span>`;
}

/** What came of the last decision, and where a merged or discarded change is. */
export function Result({ source, result }) {
  const r = result.value;
  const review = source.review.value;
  const { landing } = review ?? {};
  return html`
    ${r?.doing && html`<p class="outcome" role="status"><span class="spin" aria-hidden="true">◌</span> ${r.doing}</p>`}
    ${r?.bad && html`<div class="wrong" role="alert"><span class="sign" aria-hidden="true">✗</span><div>${r.bad}</div><span class="space"></span><button class="quiet" aria-label="Close" onClick=${() => { result.value = null; }}>✕</button></div>`}
    ${review?.state !== 'discarded' && landing && html`<p class="outcome good">Merged into <code>${landing.into}</code> as <code>${String(landing.after).slice(0, 9)}</code> (${landing.method}) <${Ago} time=${landing.at} />.</p>`}
    ${review?.state === 'discarded' && html`<p class="outcome">Discarded${review.rescue && html`. A copy is kept at <code>${review.rescue}</code>`}.</p>`}
    ${review?.state === 'sent_back' && html`<p class="outcome">Sent back, round ${review.round}. The agent works on the comments; its answers appear beside them.</p>`}`;
}
