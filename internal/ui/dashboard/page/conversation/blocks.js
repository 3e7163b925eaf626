// Draws the blocks of a conversation.
import { html, memo } from '../core/view.js';
import { at, clock, exact } from '../core/time.js';
import { bytes, count, many, money } from '../core/words.js';
import { Question } from '../parts/question.js';
import { Ago, Lasting, Status } from '../parts/status.js';
import { runs } from '../task/ansi.js';
import { mark } from '../task/renderline.js';
import { run } from '../task/view.js';
import { visible } from '../review/visible.js';
import { Edit, Sums } from './edit.js';
import { Markdown, marked } from './prose.js';

const shortLine = 160; // characters of a folded text

/**
 * Whether a block can be folded, and whether it is unfolded unless the user decides.
 * @param {any} c the block's content
 * @returns {'open'|'folded'|''} empty: it cannot be folded
 */
export function usual(c) {
  if (c.kind === 'tool') return c.edits ? 'open' : 'folded';
  if (c.kind === 'think' || c.kind === 'result') return 'folded';
  if (c.kind === 'user' && c.first && (c.text.length > 600 || c.text.split('\n').length > 8)) return 'folded';
  return '';
}

const firstLine = (text) => {
  const line = text.trimStart().split('\n', 1)[0];
  return line.length > shortLine ? `${line.slice(0, shortLine)}…` : line;
};

/**
 * @param {{c: any, open: boolean, find: string, colours: any, on: {toggle: (c: any) => void, whole: (c: any) => void}, question: any, asked: any, message: any, about: any, root: string}} props
 * question: the stored question of the block; asked: it, if it is open; message: the stored
 * message of the block; about: what the page knows about the block's attempt; root: the
 * folder that paths are in.
 */
export const Block = memo((props) => {
  const { c, on } = props;
  const Draw = draws[c.kind];
  return html`${c.parent && html`<span class="sub">sub-agent</span>`}<${Draw} ...${props} toggle=${() => on.toggle(c)} whole=${() => on.whole(c)} />`;
});

const draws = { say: Say, think: Think, user: User, tool: Tool, result: Result, ask: Ask, note: Note, end: End, text: Text, begin: Begin };

function More({ c, whole }) {
  if (!(c.more > 0)) return null;
  return c.full ? html`<p class="faint">… ${count(c.more)} more characters are in the log.</p>` : html`<button class="quiet all" onClick=${whole}>Show all, ${count(c.more)} more characters</button>`;
}

function Say({ c, find, colours, whole }) {
  return html`<${Markdown} text=${c.text} find=${find} colours=${colours} /><${More} c=${c} whole=${whole} />`;
}

const Fold = ({ open, toggle, class: kind = '', children }) => html`<button class=${`fold ${kind}`} tabindex="-1" aria-expanded=${open} onClick=${toggle}><span class="chevron" aria-hidden="true">${open ? '▾' : '▸'}</span>${children}</button>`;

function Think({ c, open, toggle, find, colours, whole }) {
  return html`<${Fold} open=${open} toggle=${toggle} class="thought"><span class="name">Thought</span>${!open && html`<span class="what">${marked(firstLine(c.text), find)}</span>`}<//>
    ${open && html`<div class="inside thought"><${Markdown} text=${c.text} find=${find} colours=${colours} /><${More} c=${c} whole=${whole} /></div>`}`;
}

function User({ c, open, toggle, find, colours, whole, message }) {
  const foldable = usual(c) !== '';
  const who = message ? html`${message.by ? html`<bdi>${message.by}</bdi>` : 'You'}` : c.first ? 'Prompt' : 'Message to the agent';
  return html`<div class="mine"><p class="who">${who}${message && html` <span class="faint">sent <${Ago} time=${message.sent} /> · <span class="ok" title=${exact(at(message.delivered))}>✓ delivered</span></span>`}</p>
    ${foldable && !open ? html`<p class="brief">${marked(c.text.slice(0, 600).replace(/\n{2,}/g, '\n'), find)}</p>` : message || !c.first ? html`<p class="words">${marked(c.text, find)}</p>` : html`<${Markdown} text=${c.text} find=${find} colours=${colours} />`}
    ${foldable && html`<button class="quiet all" aria-expanded=${open} onClick=${toggle}>${open ? 'Show less' : 'Show all'}</button>`}${(open || !foldable) && html`<${More} c=${c} whole=${whole} />`}</div>`;
}

const outcomes = { running: ['running', 'running'], complete: ['complete', ''], failed: ['failed', 'failed'] };

function Tool({ c, open, toggle, find, colours, whole, root }) {
  const [state, word] = outcomes[c.state];
  const exit = c.declined ? 'declined' : c.exit ? `exit ${c.exit}` : word;
  const what = root ? c.what.replaceAll(`${root}/`, '') : c.what;
  const shown = what && html`<code class="what" title=${what}>${find ? marked(what, find) : visible(what)}</code>`;
  const file = c.edits?.length === 1 && c.edits[0];
  return html`<${Fold} open=${open} toggle=${toggle} class="tool"><span class="name">${marked(c.tool, find)}</span>${shown}${file && html`<${Sums} edit=${file} />`}<span class="space"></span>
      ${!open && c.output?.total > 0 && html`<span class="faint lines">${many(c.output.total, 'line')}</span>`}${exit ? html`<${Status} of=${state} word=${exit} />` : html`<span class="ok done"><span aria-hidden="true">✓</span><span class="hidden">complete</span></span>`}<//>
    ${open && html`<div class="inside">
      ${c.whole && html`<pre class="output ansi whole">${visible(c.whole)}</pre>`}
      ${c.input && html`<pre class="output ansi input">${visible(c.input)}</pre>`}
      ${c.edits?.map((e) => html`<div class="file" key=${e.path}>${c.edits.length > 1 && html`<p class="path"><code>${visible(e.path)}</code> <span class="faint">${e.status}</span> <${Sums} edit=${e} /></p>`}
        ${e.hunks.length > 0 ? html`<${Edit} edit=${e} colours=${colours} />` : html`<p class="faint">${c.edits.length === 1 && `${e.path}: `}${e.status}. The program does not report the lines.</p>`}
        ${e.hidden > 0 && (c.full ? html`<p class="faint">… ${count(e.hidden)} more lines</p>` : html`<button class="quiet all" onClick=${whole}>Show all, ${many(e.hidden, 'more line')}</button>`)}</div>`)}
      <${Output} c=${c} find=${find} whole=${whole} />
      ${c.state === 'running' && html`<p class="faint">It has not returned yet.</p>`}</div>`}
    ${!open && c.state === 'failed' && c.output?.text && html`<p class="reason">${marked(lastLine(c.output.text), find)}</p>`}`;
}

const lastLine = (text) => {
  const lines = text.trimEnd().split('\n');
  return firstLine(lines.at(-1) ?? '');
};

// Output shows the result of a tool.
function Output({ c, find, whole }) {
  const o = c.output;
  if (!o) return null;
  if (!o.text) return html`<p class="faint">It returned nothing.</p>`;
  const left = o.hidden > 0 ? many(o.hidden, 'more line') : `${count(o.cut)} more characters`;
  const more = o.cut > 0 && (c.full ? html`<p class="faint">… ${left}, in the log</p>` : html`<button class="quiet all" onClick=${whole}>Show all, ${left}</button>`);
  return html`${o.end && more}<pre class=${`output ansi${c.bad ? ' bad' : ''}`} tabindex="0">${o.text.split('\n').map((line, i) => [i > 0 && '\n', mark(runs(line), find).map(run)])}</pre>${!o.end && more}`;
}

function Result({ c, open, toggle, find, whole }) {
  return html`<${Fold} open=${open} toggle=${toggle} class="tool"><span class="name">Result</span>${!open && html`<span class="what">${marked(firstLine(c.output.text), find)}</span>`}<span class="space"></span>${c.bad && html`<${Status} of="failed" />`}<//>
    ${open && html`<div class="inside"><${Output} c=${c} find=${find} whole=${whole} /></div>`}`;
}

function Ask({ c, find, question, asked }) {
  if (asked) return html`<${Question} key=${asked.id} q=${asked} near=${html`<span>${asked.where} asks</span>`} />`;
  const answer = question?.closed ? html`<p class="answer"><${Status} of=${question.denied ? 'failed' : 'complete'} word=${question.denied ? 'denied' : 'answered'} /> <strong>${marked(question.answer || (question.denied ? 'no' : ''), find)}</strong> <span class="faint">${question.by && html`by <bdi>${question.by}</bdi> `}${question.answered && html`<${Ago} time=${question.answered} />`}</span></p>`
    : c.answer ? html`<p class="answer"><span class="faint">${marked(c.answer, find)}</span></p>` : html`<p class="answer faint">No answer is stored.</p>`;
  return html`<div class="inquiry"><p class="who">${c.permission ? 'Asked for permission' : 'Asked'}</p><p class="words">${find ? marked(c.text, find) : visible(c.text)}</p>${c.reason && html`<p class="faint">${c.reason}</p>`}
    ${c.options?.length > 0 && !c.permission && html`<p class="options">${c.options.map((o) => html`<span class=${`option${o === question?.answer ? ' chosen' : ''}`}>${o}</span> `)}</p>`}${answer}</div>`;
}

function Note({ c, find, whole }) {
  return html`<p class=${`note${c.bad ? ' bad' : ''}`}><span aria-hidden="true">${c.bad ? '✗' : '·'}</span> <span>${marked(c.text, find)}${c.count > 1 && html` <span class="faint">${count(c.count)} times</span>`}</span></p><${More} c=${c} whole=${whole} />`;
}

function End({ c, find, colours, whole }) {
  const facts = [c.stopped ? 'Turn interrupted' : c.bad ? 'Turn failed' : 'Turn ended', c.tokens > 0 && `${count(c.tokens)} tokens`, money(c.usd)].filter(Boolean).join(' · ');
  return html`${c.text && (c.bad ? html`<p class="note bad"><span aria-hidden="true">✗</span> <span class="words">${marked(c.text, find)}</span></p>` : html`<${Markdown} text=${c.text} find=${find} colours=${colours} />`)}<${More} c=${c} whole=${whole} /><p class="turn"><span>${facts}</span></p>`;
}

// Text shows the lines of a program without a format, as in a terminal.
function Text({ c, find }) {
  return html`<pre class="terminal ansi">${c.rows.map((r, i) => [i > 0 && '\n', mark(runs(r.text), find).map(run), r.more > 0 && html`<em class="cut">… ${count(r.more)} more characters of this line</em>`])}${c.missing > 0 && html`<em class="cut">… ${bytes(c.missing)} more of this line</em>`}</pre>`;
}

function Begin({ c, about }) {
  const a = about.attempts.find((one) => one.number === c.attempt);
  return html`${about.ended(c.attempt).map((e) => html`<${AttemptEnd} key=${e.id} a=${e} about=${about} />`)}
    ${(about.several || a) && html`<div class="boundary" role="separator" aria-label=${`Attempt ${c.attempt}`}><h2>Attempt ${c.attempt}</h2>${a && html`<span class="faint">${about.worker(a) && `${about.worker(a)} · `}<time title=${exact(at(a.started))}>${clock(at(a.started))}</time></span>`}</div>`}
    ${about.prompts(c.attempt) && html`<details class="mine early"><summary>Prompt</summary><pre>${about.prompts(c.attempt)}</pre></details>`}
    ${about.messages(c.attempt).map((m) => html`<div class="mine" key=${m.id}><p class="who">${m.by ? html`<bdi>${m.by}</bdi>` : 'You'} <span class="faint">sent <${Ago} time=${m.sent} /> · <span class="ok">✓ delivered</span> with the start</span></p><p class="words">${String(m.text)}</p></div>`)}`;
}

/** How an attempt ended: outcome, time, cost, checks. @param {{a: any, about: any}} props */
export function AttemptEnd({ a, about }) {
  const checks = Array.isArray(a.checks) ? a.checks : [];
  return html`<div class="boundary closing"><${Status} of=${a.status} /><span>Attempt ${a.number}${a.class && html` <span class="class">${String(a.class).replaceAll('_', ' ')}</span>`}</span>
      <span class="faint"><${Lasting} from=${a.started} to=${a.ended} />${a.spent?.tokens > 0 && ` · ${count(a.spent.tokens)} tokens`}${a.spent?.usd > 0 && ` · ${money(a.spent.usd)}`}${a.diff?.changed > 0 && html` · ${many(a.diff.changed, 'file')} <span class="plus">+${count(Number(a.diff.added) || 0)}</span> <span class="minus">−${count(Number(a.diff.removed) || 0)}</span>`}</span></div>
    ${a.class && a.summary && !about.said(a) && html`<p class="note bad"><span aria-hidden="true">✗</span> <span class="words">${String(a.summary)}</span></p>`}
    ${checks.map((c, i) => html`<details class="checked" key=${i} open=${!c.ok}><summary><${Status} of=${c.ok ? 'complete' : 'failed'} word=${c.ok ? 'check passed' : 'check failed'} /><code>${String(c.command)}</code> <span class="faint">${c.ok ? '' : `exit ${c.exit ?? 0}`}</span></summary>${c.output ? html`<pre class="output ansi" tabindex="0">${String(c.output)}</pre>` : html`<p class="faint">It printed nothing.</p>`}</details>`)}
    ${about.questions(a).map((q) => html`<div class="inquiry" key=${q.id}><p class="who">Asked</p><p class="words">${String(q.text)}</p><p class="answer"><${Status} of=${q.denied ? 'failed' : 'complete'} word=${q.denied ? 'denied' : 'answered'} /> <strong>${String(q.answer ?? '')}</strong> <span class="faint">${q.by && html`by <bdi>${q.by}</bdi>`}</span></p></div>`)}`;
}
