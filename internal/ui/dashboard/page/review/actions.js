// The state of the review, and the user's decisions: send back, approve, merge, discard,
// undo.
import { send } from '../core/api.js';
import { html, useEffect, useRef } from '../core/view.js';
import { many } from '../core/words.js';
import { confirm, say } from '../parts/dialog.js';
import { Ago } from '../parts/status.js';
import { Copy } from '../task/head.js';

const states = {
  open: ['queued', '○', 'to be reviewed'], commented: ['waiting', '✎', 'commented'], sent_back: ['running', '↩', 'sent back'],
  approved: ['complete', '✓', 'approved'], merged: ['complete', '⤵', 'merged'], discarded: ['cancelled', '⊘', 'discarded'],
};

/** @param {{state: string}} props */
export function ReviewState({ state }) {
  const [kind, sign, word] = Object.hasOwn(states, state) ? states[state] : ['other', '·', state];
  return html`<span class=${`status k-${kind}`}><span class="sign" aria-hidden="true">${sign}</span>${word}</span>`;
}

/** Returns the decisions that are possible in a review's state. @param {any} review @param {any} task */
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
  // run performs an action and stores its outcome in result as {doing}, {good} or {bad},
  // with further lines and what the user can do next. If the server goes away meanwhile,
  // the outcome is outcomeOf(review), as soon as the server answers again.
  const run = async (doing, action, outcomeOf) => {
    if (result.value?.doing) return;
    result.value = { doing };
    let end;
    try {
      end = await action().catch(async (e) => {
        if (e.code !== 'away') throw e;
        result.value = { doing: 'The server does not answer. When it does, this page says what became of your request.' };
        return outcomeOf(await source.answered());
      });
    } catch (e) {
      end = { bad: e.message };
    }
    await source.look();
    result.value = end;
  };
  // unless returns the outcome of an action that was not carried out.
  const unless = (done, what, word, act) => (r) => (done(r) ? null : { bad: `The server was away, and ${what}.`, next: { word, act }, during: r.state });
  const allowed = (what) => {
    const why = choices(source.review.value, task)[what];
    if (why) say(why, 'bad');
    return !why;
  };
  const merge = (how) => run('Merging. The checks run on the merged result…', async () => {
    let m;
    do { // the checks may take longer than a request: the same request again waits for the same merge
      const answer = await send(`${source.url}/merge`, how);
      m = answer.merges?.[0] ?? answer.merge ?? {};
    } while (m.state === 'running' && !source.over.signal.aborted);
    const more = { lines: m.files, hint: m.hint, commands: m.commands };
    const fix = { word: 'Send it to the agent', act: () => merge({ ...how, fix: true }) };
    if (m.needs_consent && !how.yes) return { bad: m.why, lines: m.files, next: { word: `Merge and change the files of ${m.into}`, act: () => merge({ ...how, yes: true }) } };
    switch (m.state) {
      case 'merged': return { good: `Merged into ${m.into} as ${String(m.landing?.after).slice(0, 9)}.` };
      case 'already': return { good: `It was merged into ${m.into} before.` };
      case 'nothing': return { good: 'The task has changed nothing. There is nothing to merge.' };
      case 'sent_back': return { good: 'The agent works on it, in the same conversation.' };
      case 'conflict': return { bad: `It conflicts with ${m.into}. Nothing was changed. The files:`, ...more, next: fix };
      case 'check_failed': return { bad: `The checks of the merged result failed. ${m.into} was not changed.\n${m.why ?? ''}`, ...more, next: fix };
      default: return { bad: m.why || `It was not merged: ${m.state}.`, ...more };
    }
  }, unless((r) => r.state === 'merged', 'the change is not merged', 'Merge again', () => merge(how)));
  const undo = (how) => run('Undoing…', async () => {
    const { merge: m = {} } = await send(`${source.url}/undo`, how);
    const more = { lines: m.files, hint: m.hint, commands: m.commands };
    if (m.needs_consent && !how.yes) return { bad: m.why, lines: m.files, next: { word: `Undo and change the files of ${m.into}`, act: () => undo({ ...how, yes: true }) } };
    if (!m.state || m.state === 'undone') return { good: 'The merge is undone.' };
    return { bad: m.why || `It was not undone: ${m.state}.`, ...more, next: how.revert ? undefined : { word: 'Revert it with a new commit', act: () => undo({ ...how, revert: true }) } };
  }, unless((r) => !r.landing, 'the merge is not undone', 'Undo again', () => undo(how)));
  const discard = (back) => run(back ? 'Restoring…' : 'Discarding…', async () => {
    await send(`${source.url}/discard`, back ? { undo: true } : {});
    return { good: back ? 'The change is restored.' : 'Discarded. A copy is kept.' };
  }, unless((r) => (r.state === 'discarded') !== back, `the change is not ${back ? 'restored' : 'discarded'}`, back ? 'Restore it' : 'Discard it', () => discard(back)));
  const act = {
    async sendBack() {
      if (!allowed('sendBack')) return;
      const { drafts } = choices(source.review.value, task);
      const { round } = source.review.value;
      await run('Sending the comments…', async () => {
        await source.act({ action: 'send_back', tree: source.change.value.tree });
        return { good: `${many(drafts, 'comment')} sent. The agent continues its conversation.`, during: 'sent_back' };
      }, unless((r) => r.round > round, 'your comments were not sent', 'Send them', act.sendBack));
    },
    async approve() {
      if (!allowed('approve')) return;
      await run('Approving…', async () => {
        await source.act({ action: 'approve', tree: source.change.value.tree });
        return { good: 'Approved.', during: 'approved' };
      }, unless((r) => r.state === 'approved', 'the change is not approved', 'Approve it', act.approve));
    },
    async reopen() {
      await run('Opening the review again…', async () => {
        await source.act({ action: 'reopen' });
        return { good: 'The review is open again.' };
      }, unless((r) => r.state !== 'approved', 'the review is not open again', 'Reopen it', act.reopen));
    },
    async merge() {
      if (!allowed('merge')) return;
      const how = { into: '', method: '' };
      const text = html`<p>The change of <code>${name}</code> is merged in a folder of its own. Its checks run on the merged result. Only then the branch moves.</p>
        <label>Into <input type="text" maxlength="200" placeholder="the branch of the plan, or the one that is checked out" onInput=${(e) => { how.into = e.currentTarget.value.trim(); }} /></label>
        <label>How <select onChange=${(e) => { how.method = e.currentTarget.value; }}><option value="">with a merge commit</option><option value="squash">as one commit</option><option value="rebase">rebased</option></select></label>`;
      if (await confirm({ title: 'Merge this change?', text, action: 'Merge' }) === null) return;
      await merge(Object.fromEntries(Object.entries(how).filter(([, v]) => v)));
    },
    async discard() {
      if (!allowed('discard')) return;
      const text = html`<p>The change of <code>${name}</code> is not merged, and its worktree is deleted. A copy is kept, so that you can undo this.</p>`;
      if (await confirm({ title: 'Discard this change?', text, action: 'Discard', danger: true }) === null) return;
      await discard(false);
    },
    async undo() {
      if (!allowed('undo')) return;
      const merged = source.review.value?.state !== 'discarded';
      const { into } = source.review.value?.landing ?? {};
      const text = merged ? html`<p><code>${into}</code> goes back to where it was before the merge of <code>${name}</code>.</p>` : html`<p>The worktree of <code>${name}</code> is restored.</p>`;
      if (await confirm({ title: merged ? 'Undo the merge?' : 'Undo the discard?', text, action: 'Undo', danger: merged }) === null) return;
      await (merged ? undo({}) : discard(true));
    },
  };
  return act;
}

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

/** Shows the outcome of the last decision, and where a merged or discarded change is. @param {{source: import('./source.js').Source, result: any, gone: boolean}} props gone: no process works on the run */
export function Result({ source, result, gone }) {
  const review = source.review.value;
  const { during } = result.value ?? {};
  const outdated = during && (during !== review?.state || (gone && during === 'sent_back')); // the review's state has changed, or the agent does not go on
  const r = outdated ? null : result.value;
  const { landing } = review ?? {};
  return html`
    ${r?.doing && html`<p class="outcome" role="status"><span class="spin" aria-hidden="true">◌</span> ${r.doing}</p>`}
    ${r?.bad && html`<${Bad} r=${r} close=${() => { result.value = null; }} />`}
    ${r?.good && html`<p class="outcome good" role="status">${r.good}</p>`}
    ${!r?.good && review?.state !== 'discarded' && landing && html`<p class="outcome good">Merged into <code>${landing.into}</code> as <code>${String(landing.after).slice(0, 9)}</code> (${landing.method}) <${Ago} time=${landing.at} />.</p>`}
    ${review?.state === 'discarded' && html`<p class="outcome">Discarded${review.rescue && html`. A copy is kept at <code>${review.rescue}</code>`}.</p>`}
    ${!r?.good && review?.state === 'sent_back' && html`<p class="outcome">Sent back, round ${review.round}. ${gone ? 'The answers of the agent appear when the run is resumed.' : 'The agent works on the comments; its answers appear beside them.'}</p>`}`;
}

// What went wrong with a decision, and what the user can do next. It gets the focus, so that Tab leads to its buttons.
function Bad({ r, close }) {
  const ref = useRef(null);
  useEffect(() => { if (document.activeElement === document.body || document.activeElement?.id === 'main') ref.current.focus(); }, []);
  return html`<div ref=${ref} class="wrong" role="alert" tabindex="-1"><span class="sign" aria-hidden="true">✗</span><div class="why">${r.bad}
      ${r.lines?.length > 0 && html`<ul>${r.lines.map((l) => html`<li key=${l}><code>${String(l)}</code></li>`)}</ul>`}
      ${r.hint && !r.commands?.length && html`<p class="faint">${r.hint}</p>`}${r.commands?.length > 0 && html`<p>To resolve the conflict yourself, run these commands and merge again:</p>`}
      ${r.commands?.length > 0 && html`<pre>${r.commands.join('\n')}</pre>`}
      <p class="row-actions">${r.next && html`<button onClick=${r.next.act}>${r.next.word}</button>`}${r.commands?.length > 0 && html`<${Copy} text=${r.commands.join('\n')} what="the commands" label="Copy the commands" />`}</p></div>
    <span class="space"></span><button class="quiet" aria-label="Close" onClick=${close}>✕</button></div>`;
}
