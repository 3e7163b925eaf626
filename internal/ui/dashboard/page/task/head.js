// The head of a task's page: its facts and actions.
import { path, send } from '../core/api.js';
import { agents, self } from '../core/fleet.js';
import { useCommands } from '../core/commands.js';
import { go, link } from '../core/route.js';
import { at, exact, now, span, tick } from '../core/time.js';
import { count, many, money } from '../core/words.js';
import { html } from '../core/view.js';
import { attempt, confirm, say } from '../parts/dialog.js';
import { Question } from '../parts/question.js';
import { Ago, Status, Until } from '../parts/status.js';
import { Candidates } from './candidates.js';
import { waiting } from './source.js';

/** @param {{source: import('./source.js').Source, task: any, asks: boolean}} props asks: shows the open question and the last failure, which the conversation has in its place */
export function Head({ source, task, asks }) {
  const run = source.detail.run.value;
  const open = task.question && { ...task.question, where: task.question.name };
  return html`<nav class="crumbs" aria-label="Where this is"><a href="#/runs">Runs</a> <span aria-hidden="true">/</span> <a href=${link('runs', task.run)}>${run?.name || task.run}</a></nav>
    <header class="section taskhead"><h1>${task.name || task.id}</h1>
      <${Status} of=${task.question ? 'waiting' : task.status} /><${Outcome} task=${task} />
      <span class="space"></span><${Actions} source=${source} task=${task} /></header>
    ${task.candidates?.length ? html`<${Candidates} source=${source} task=${task} />` : asks && open && html`<section class="questions" aria-label="Question"><${Question} key=${open.id} q=${open} near=${html`<span>${open.where} asks</span>`} /></section>`}
    ${asks && html`<${Failure} task=${task} />`}`;
}

// Outcome explains the state of a task if its status is not enough.
function Outcome({ task }) {
  if (task.status === 'queued' && at(task.retry_at) > now()) {
    tick.value;
    return html`<span class="status k-waiting"><span class="sign" aria-hidden="true">↻</span>tries again <${Until} time=${task.retry_at} /></span>`;
  }
  if (!task.outcome || task.status === 'complete' || task.status === 'failed') return null;
  const why = String(task.outcome).replaceAll('_', ' ');
  return html`<span class="faint">${task.status === 'running' || task.status === 'queued' ? `again, after “${why}”` : why}</span>`;
}

function Failure({ task }) {
  const last = task.attempt;
  if (!last || !last.summary || (task.status !== 'failed' && !last.class)) return null;
  return html`<div class="wrong" role="note"><span class="sign" aria-hidden="true">✗</span><div><strong>${task.status === 'failed' ? 'Failed' : `Attempt ${last.number} failed`}${last.class && last.class !== 'failed' && `: ${String(last.class).replaceAll('_', ' ')}`}</strong>
    <p class="words" tabindex="0">${String(last.summary)}</p></div></div>`;
}

/** What is known about the task, and commands to copy. @param {{source: import('./source.js').Source, task: any}} props */
export const About = ({ source, task }) => html`<${Facts} source=${source} task=${task} /><${Commands} task=${task} />`;

function Facts({ source, task }) {
  const a = task.attempt;
  const all = source.detail.tasks.all();
  const fact = (name, value) => value && html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
  const links = (ids) => ids.length > 0 && html`<${Links} run=${task.run} ids=${ids} tasks=${source.detail.tasks} />`;
  return html`<dl class="facts panel">
    ${task.status === 'running' && fact('Does now', html`<${Doing} a=${a} />`)}
    ${fact('Task', html`<code>${task.id}</code>`)}
    ${fact('Wave', task.wave)}
    ${fact('Candidate of', task.candidate_of && links([task.candidate_of]))}
    ${fact('Forked from', task.forked_from && html`<${Origin} f=${task.forked_from} />`)}
    ${fact('Needs', links(task.after ?? []))}
    ${fact('Needed by', links(all.filter((t) => (t.after ?? []).includes(task.id)).map((t) => t.id)))}
    ${fact('Agent', task.agent && html`${task.agent}${task.model && html` <span class="faint">${task.model}</span>`}`)}
    ${fact('Account', a?.account && html`<bdi>${String(a.account)}</bdi>`)}
    ${fact('Fallback', fallback(task, a))}
    ${fact('Worker', a?.worker && a.worker !== task.run && html`<${Worker} name=${a.worker} />`)}
    ${fact('Attempt', `${task.tries ?? 0} of ${1 + (task.retries ?? 0)}`)}
    ${fact(task.status === 'running' ? 'Works for' : 'Worked', a && html`<${Worked} a=${a} />`)}
    ${fact('Waited for answers', a && (a.waiting_since || a.waited_ms >= 1000) && html`<${Waited} a=${a} />`)}
    ${fact('Denied', a?.denied?.length > 0 && a.denied.map(String).join('; '))}
    ${fact('Spent', spent(source.attempts.all(), a))}
    ${fact('Worktree', task.worktree && html`<code>${task.worktree}</code>`)}
    ${fact('Branch', task.branch && html`<code>${task.branch}</code>`)}
    ${fact('Conversation', a?.thread && html`<code>${a.thread}</code>`)}
    ${fact('Sandbox', a?.sandbox)}
    ${fact('Process', a?.pid > 0 && !a.ended && html`<code>${a.pid}</code>`)}
  </dl>`;
}

// fallback returns which other agents may continue the task, and which of them does so now.
function fallback(task, a) {
  const list = (task.fallback ?? []).map(String);
  if (!list.length && !a?.fallback) return null;
  return html`<bdi>${list.join(', ')}</bdi>${a?.fallback && html` <span class="faint">attempt ${a.number} by <bdi>${String(a.fallback)}</bdi></span>`}`;
}

// Origin is the task that a task was forked from.
const Origin = ({ f }) => html`<a href=${link('runs', f.run, 'tasks', f.task)}>${f.task}</a> <span class="faint">of <code>${f.run}</code>${f.turn > 0 && `, turn ${f.turn}`}${!f.copied && ', with a summary of the conversation'}</span>`;

// waited returns how long an agent has waited for the user, in milliseconds.
function waited(a) {
  if (!a.waiting_since) return a.waited_ms ?? 0;
  tick.value;
  return (a.waited_ms ?? 0) + Math.max(0, now() - at(a.waiting_since));
}

const Waited = ({ a }) => html`<time>${span(waited(a))}</time>`;

function Worked({ a }) {
  if (!a.ended) tick.value;
  return html`<time title=${`since ${exact(a.started)}`}>${span((a.ended ? at(a.ended) : now()) - at(a.started) - waited(a))}</time>`;
}

// spent returns the total cost of all attempts, with the latest report of the running one.
function spent(list, doing) {
  let usd = 0;
  let tokens = 0;
  for (const one of list) {
    const s = (one.id === doing?.id ? doing : one).spent ?? {};
    usd += Number(s.usd) || 0;
    tokens += Number(s.tokens) || 0;
  }
  return [tokens > 0 && `${count(tokens)} tokens`, money(usd)].filter(Boolean).join(', ');
}

function Doing({ a }) {
  if (!a) return html`<span class="faint">nothing yet</span>`;
  return html`<${Status} of=${a.state || 'running'} title=${a.source && `said by ${a.source}`} /> ${a.doing && html`<span class="doing">${String(a.doing)}</span> `}<span class="faint">${a.said ? html`${a.source && `${a.source}, `}<${Ago} time=${a.said} />` : 'the agent has not said what it does'}</span>`;
}

function Worker({ name }) {
  const known = agents.all().find((w) => w.id === name || w.name === name);
  return html`<span title=${name}>${known?.name ?? name}</span>`;
}

const shownLinks = 12;

function Links({ run, ids, tasks }) {
  return html`<span class="links">${ids.slice(0, shownLinks).map((id) => {
    const t = tasks.get(id);
    return html`<a key=${id} href=${link('runs', run, 'tasks', id)} title=${t?.name || id}>${t && html`<${Status} of=${t.status} word="" />`}${id}${t && html`<span class="hidden"> ${t.status}</span>`}</a>`;
  })}${ids.length > shownLinks && html`<span class="faint">and ${ids.length - shownLinks} more</span>`}</span>`;
}

function Actions({ source, task }) {
  const may = self.value.role !== 'viewer' && self.value.role !== 'worker';
  const cancel = async () => {
    const others = waiting(source.detail.tasks.all(), task.id).filter((t) => t.status === 'queued');
    const text = html`<p><code>${task.id}</code>${task.name && ` (${task.name})`} of run <code>${task.run}</code>. ${task.status === 'running' ? 'Its agent is ended, with everything that it started.' : 'It will not be begun.'}</p>
      ${others.length > 0 && html`<p>${many(others.length, 'task')} that ${others.length === 1 ? 'waits' : 'wait'} for it ${others.length === 1 ? 'is' : 'are'} cancelled too:</p>
      <ul>${others.slice(0, 10).map((t) => html`<li key=${t.id}><code>${t.id}</code></li>`)}${others.length > 10 && html`<li>and ${others.length - 10} more</li>`}</ul>`}`;
    if (await confirm({ title: 'Cancel this task?', text, action: 'Cancel the task', danger: true }) === null) return;
    attempt(`Cancelled: ${task.id}`, () => send(path`/v1/runs/${task.run}/cancel`, { task: task.id, why: 'cancelled in the dashboard' }));
  };
  const retry = () => attempt(`Queued again: ${task.id}`, () => send(path`/v1/runs/${task.run}/retry`, { task: task.id }));
  const forks = may && task.tries > 0 && task.status !== 'running' && task.agent !== 'command' && !String(task.agent).startsWith('gaffer-');
  const fork = async () => {
    const text = html`<p>A new task continues a copy of the conversation and the files of <code>${task.id}</code>, as its last attempt has left them. This task stays as it is.</p>`;
    const prompt = await confirm({ title: 'Fork this task?', text, action: 'Fork', input: 'What to say to the agent next (it continues if you say nothing)' });
    if (prompt === null) return;
    const key = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
    await attempt(`Forked: ${task.id}`, async () => {
      const { fork: made, warning } = await send(path`/v1/runs/${task.run}/tasks/${task.id}/fork`, { prompt: prompt.trim(), key });
      for (const note of [...(made.notes ?? []), warning].filter(Boolean)) say(note);
      go(link('runs', made.run, 'tasks', made.task));
    });
  };
  const review = link('runs', task.run, 'tasks', task.id, 'review');
  useCommands(() => [
    task.branch && { id: 'task-review', title: 'Review the change', hint: task.id, run: () => go(review) },
    may && (task.status === 'failed' || task.status === 'cancelled') && { id: 'task-retry', title: 'Retry the task', hint: task.id, run: retry },
    forks && { id: 'task-fork', title: 'Fork the task…', hint: task.id, run: fork },
    may && (task.status === 'running' || task.status === 'queued') && { id: 'task-cancel', title: 'Cancel the task…', hint: task.id, run: cancel },
  ].filter(Boolean));
  return html`<span class="actions">
    ${task.branch && html`<a class="button" href=${review}>Review</a>`}
    ${forks && html`<button onClick=${fork}>Fork…</button>`}
    ${may && (task.status === 'failed' || task.status === 'cancelled') && html`<button class="primary" onClick=${retry}>Retry</button>`}
    ${may && (task.status === 'running' || task.status === 'queued') && html`<button class="danger" onClick=${cancel}>Cancel…</button>`}</span>`;
}

function Commands({ task }) {
  const list = [`gaffer logs ${task.run}/${task.id}${task.status === 'running' ? ' -f' : ''}`];
  if (task.session && task.status === 'running') list.push(`gaffer attach ${task.id}`, `tmux attach -t ${task.session}`);
  if (task.worktree) list.push(`cd ${task.worktree}`);
  return html`<div class="commands" role="group" aria-label="Commands">${list.map((c) => html`<${Copy} key=${c} text=${c} what=${c} />`)}</div>`;
}

/** A button that copies a text. @param {{text: string, what: string, label?: string}} props */
export function Copy({ text, what, label }) {
  const copy = () => attempt(label ? `${label}: copied` : `Copied: ${what}`, () => navigator.clipboard.writeText(text));
  return html`<button class="quiet copy" onClick=${copy} title=${`Copy ${what}`}>${label ?? html`<code>${what}</code> <span class="faint">copy</span>`}</button>`;
}
