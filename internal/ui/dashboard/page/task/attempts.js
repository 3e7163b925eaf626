// The tabs of a task's attempts, checks and prompt.
import { agents } from '../core/fleet.js';
import { link } from '../core/route.js';
import { span } from '../core/time.js';
import { count, money } from '../core/words.js';
import { html, memo } from '../core/view.js';
import { Empty, Lasting, Status } from '../parts/status.js';
import { Copy } from './head.js';

/** @param {{list: any[], task: any}} props */
export function Attempts({ list, task }) {
  if (!list.length) return html`<${Empty} title="No attempt has begun."><p>${task.status === 'queued' ? 'The task is queued.' : 'It was ended before it began.'}</p><//>`;
  return html`<ol class="attempts" aria-label="Attempts">${list.map((a) => html`<${Attempt} key=${a.id} a=${a} task=${task} />`)}</ol>`;
}

const Attempt = memo(({ a, task }) => html`<li class="panel try">
  <header><h2>Attempt ${a.number}</h2><${Status} of=${a.status} />${a.class && html`<span class="class">${String(a.class).replaceAll('_', ' ')}</span>`}
    <span class="faint">${agents.get(a.worker)?.name ?? a.worker}</span>
    ${a.account && html`<span class="faint">account <bdi>${String(a.account)}</bdi></span>`}
    ${a.fallback && html`<span class="faint"><bdi>${String(a.fallback)}</bdi> in place of ${task.agent || 'claude'}</span>`}
    <span><${Lasting} from=${a.started} to=${a.ended} /></span>
    ${a.ended && html`<span class="faint">exit ${a.exit ?? 0}</span>`}
    ${a.spent?.tokens > 0 && html`<span class="faint">${count(a.spent.tokens)} tokens</span>`}
    ${a.spent?.usd > 0 && html`<span class="faint">${money(a.spent.usd)}</span>`}
    <span class="space"></span><a href=${`${link('runs', task.run, 'tasks', task.id)}?attempt=${a.number}`}>its conversation</a><a href=${`${link('runs', task.run, 'tasks', task.id)}?tab=log&attempt=${a.number}`}>its log</a></header>
  ${a.summary && html`<p class="words" tabindex="0">${String(a.summary)}</p>`}
  ${a.checks?.length > 0 && html`<p class="checked">${a.checks.map((c, i) => html`<span key=${i} title=${c.command}><${Status} of=${c.ok ? 'complete' : 'failed'} word=${c.ok ? 'check passed' : 'check failed'} /> </span>`)}</p>`}
  ${a.diff && html`<${Diff} diff=${a.diff} />`}
  ${a.log && html`<p class="faint file"><code>${a.log}</code></p>`}
</li>`);

// Diff shows what an attempt has changed in its worktree.
function Diff({ diff }) {
  const files = Array.isArray(diff.files) ? diff.files : [];
  const changed = Number(diff.changed) || files.length;
  if (!changed) return html`<p class="faint">Nothing was changed in its worktree.</p>`;
  const most = Math.max(1, ...files.map((f) => (Number(f.added) || 0) + (Number(f.removed) || 0)));
  const part = (n) => ({ width: `${100 * (Number(n) || 0) / most}%` });
  return html`<details class="diff" open=${files.length <= 12}><summary>${count(changed)} file${changed === 1 ? '' : 's'} changed <span class="plus">+${count(Number(diff.added) || 0)}</span> <span class="minus">−${count(Number(diff.removed) || 0)}</span></summary>
    <table class="files"><thead class="hidden"><tr><th>File</th><th>Added</th><th>Removed</th><th>Picture</th></tr></thead><tbody>${files.map((f) => html`<tr key=${f.path}><td><code>${String(f.path)}</code></td><td class="plus">+${count(Number(f.added) || 0)}</td><td class="minus">−${count(Number(f.removed) || 0)}</td>
      <td class="bars" aria-hidden="true"><span class="bar"><span class="b-plus" style=${part(f.added)}></span><span class="b-minus" style=${part(f.removed)}></span></span></td></tr>`)}</tbody></table>
    ${changed > files.length && html`<p class="faint">and ${count(changed - files.length)} more</p>`}</details>`;
}

/** The results of the checks after each attempt. @param {{list: any[]}} props */
export function Checks({ list }) {
  const all = list.filter((a) => a.checks?.length).reverse();
  if (!all.length) return html`<${Empty} title="Nothing was checked yet."><p>A task's <code>verify</code> commands run when its agent says that it is done.</p><//>`;
  return html`${all.map((a) => html`<section key=${a.id} aria-label=${`Checks of attempt ${a.number}`}><h2 class="after">After attempt ${a.number}</h2>
    ${a.checks.map((c, i) => html`<article key=${i} class="panel check"><header><${Status} of=${c.ok ? 'complete' : 'failed'} word=${c.ok ? 'passed' : 'failed'} /><code class="verify">${String(c.command)}</code>
      <span class="faint">exit ${c.exit ?? 0} · ${c.millis < 1000 ? `${c.millis ?? 0} ms` : span(c.millis)}</span></header>
      ${c.output ? html`<pre class="output">${String(c.output)}</pre>` : html`<p class="faint">It printed nothing.</p>`}</article>`)}</section>`)}`;
}

/** The prompt of the task. @param {{text: string}} props */
export function Prompt({ text }) {
  if (!text) return html`<${Empty} title="This task has no prompt."><p>It may be a command, or the run was pruned.</p><//>`;
  return html`<section class="panel prompt" aria-label="Prompt"><header><h2>Prompt</h2><span class="faint">${count(text.length)} characters</span><span class="space"></span><${Copy} text=${text} what="the prompt" label="Copy" /></header>
    <pre>${text}</pre></section>`;
}
