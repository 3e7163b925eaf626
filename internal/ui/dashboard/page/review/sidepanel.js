// The panel beside the diff: the prompt, the agent's summary, the cost and the checks.
import { self } from '../core/fleet.js';
import { link } from '../core/route.js';
import { span } from '../core/time.js';
import { count, many, money } from '../core/words.js';
import { html } from '../core/view.js';
import { Ago, Status } from '../parts/status.js';
import { lineWords } from './comment.js';

/** Whether the user may change anything. */
export const may = () => self.value.role !== 'viewer' && self.value.role !== 'worker';

/** @param {{source: import('./source.js').Source, desk: import('./pagestate.js').Desk, about: import('../task/source.js').Source, task: any}} props */
export function About({ source, desk, about, task }) {
  const list = about.attempts.all().sort((a, b) => a.number - b.number);
  const last = list.at(-1);
  const checks = source.checks.value.length ? source.checks.value : list.findLast((a) => a.checks?.length)?.checks ?? [];
  const denied = list.flatMap((a) => a.denied ?? []);
  let [usd, tokens, worked] = [0, 0, 0];
  for (const a of list) {
    usd += Number(a.spent?.usd) || 0;
    tokens += Number(a.spent?.tokens) || 0;
    worked += a.worked_ms ?? 0;
  }
  const change = source.change.value;
  const comments = (source.review.value?.comments ?? []).filter((c) => !c.resolved);
  const messages = source.messages.value.filter((m) => !m.withdrawn);
  return html`<div class="about">
    <${Part} title="Summary">${last?.summary ? html`<p class="words" tabindex="0">${String(last.summary)}</p>` : html`<p class="faint">The agent has said nothing yet.</p>`}<//>
    ${comments.length > 0 && html`<${Part} title="Open comments" count=${comments.length}><ul class="denied">${comments.map((c) => html`<li key=${c.id}><button class="link" onClick=${() => (c.path ? desk.view?.show(c.path, `c-${c.id}`) : scrollTo(0, 0))}>${c.path ? `${c.path.split('/').pop()} ${lineWords(c)}` : 'the whole change'}</button> <span class="faint">${!c.round ? 'draft' : !c.answer ? 'sent' : c.answer.fixed ? 'fixed' : 'not fixed'}</span></li>`)}</ul><//>`}
    <${Part} title="Checks" count=${checks.length}>${checks.length ? checks.map((c, i) => html`<details key=${i} class="checkline" open=${!c.ok}><summary><${Status} of=${c.ok ? 'complete' : 'failed'} word=${c.ok ? 'passed' : 'failed'} /> <code>${String(c.command)}</code></summary>
      ${c.output ? html`<pre class="output">${String(c.output)}</pre>` : html`<p class="faint">It printed nothing.</p>`}</details>`) : html`<p class="faint">Nothing was checked. <code>verify</code> in the plan names checks.</p>`}<//>
    ${denied.length > 0 && html`<${Part} title="Denied requests" count=${denied.length}><ul class="denied">${denied.map((d, i) => html`<li key=${i}>${String(d)}</li>`)}</ul><//>`}
    <${Part} title="Cost"><p>${[`${many(list.length, 'attempt')}`, tokens > 0 && `${count(tokens)} tokens`, money(usd), worked > 0 && `${span(worked)} of work`].filter(Boolean).join(', ')}</p><//>
    <${Part} title="Prompt"><p class="words" tabindex="0">${about.prompt.value || html`<span class="faint">The task has no prompt.</span>`}</p><//>
    ${messages.length > 0 && html`<${Part} title="Messages" count=${messages.length}>${messages.map((m) => html`<div key=${m.id} class="letterbox"><p class="words" tabindex="0">${String(m.text)}</p><p class="faint">sent <${Ago} time=${m.sent} />${m.delivered ? html`, delivered <${Ago} time=${m.delivered} />` : ', not delivered yet'}</p></div>`)}<//>`}
    ${change && html`<${Part} title="Commits" count=${change.commits?.length ?? 0}>${(change.commits ?? []).map((c) => html`<p key=${c.id} class="commit"><code>${String(c.id).slice(0, 9)}</code> <bdi>${String(c.subject)}</bdi> <span class="faint"><${Ago} time=${c.at} /></span></p>`)}
      ${change.dirty && html`<p class="faint">Some changes are not committed. They are shown and merged too.</p>`}
      <p class="faint"><code>${String(change.branch)}</code> from <code>${String(change.base).slice(0, 9)}</code></p><//>`}
    <p><a href=${link('runs', task.run, 'tasks', task.id)}>To the task and its log</a></p>
  </div>`;
}

const Part = ({ title, count: n, children }) => html`<section class="part"><h2>${title}${n > 0 && html` <span class="faint">${n}</span>`}</h2>${children}</section>`;
