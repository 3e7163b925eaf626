// The open questions of agents, with the controls to answer them.
import { send, path } from '../core/api.js';
import { agents, prompts, questions, runs, self, tasks } from '../core/fleet.js';
import { html, memo, useState } from '../core/view.js';
import { at } from '../core/time.js';
import { text } from '../core/words.js';
import { link } from '../core/route.js';
import { attempt, confirm } from './dialog.js';
import { Ago, Until } from './status.js';

/** All open questions, the oldest first: of runs, of agents without a task, and of the protocol's agents. */
export function openQuestions() {
  const list = questions.all().map((q) => (q.run
    ? { ...q, where: q.name, of: runs.get(q.run)?.name, href: link('runs', q.run, 'tasks', q.task) }
    : { ...q, where: q.name })); // the agent has no task
  for (const event of prompts.all()) {
    const agent = agents.get(event.agent_id);
    if (agent?.claude_status === 'waiting' && agent.current_task_id === event.task_id) list.push(fromPrompt(event, agent));
  }
  return list.sort((a, b) => at(a.asked) - at(b.asked));
}

function fromPrompt(event, agent) {
  const p = event.payload ?? {};
  const options = Array.isArray(p.options) ? p.options.map((o) => (typeof o === 'string' ? o : text(o?.label ?? o?.text ?? JSON.stringify(o)))) : undefined;
  return {
    id: event.id, text: text(p.text ?? p.question ?? p.prompt ?? 'The agent waits for an answer.'), asked: event.created_at,
    options: options ?? (p.kind === 'yes_no' ? ['yes', 'no'] : undefined), kind: p.kind, mode: p.input_mode, selected: p.selected_index ?? 0,
    where: tasks.get(event.task_id)?.title ?? event.task_id, agent, prompt: event,
  };
}

/** Answers a question of a run or of a protocol agent. @param {any} q @param {{text?: string, option?: number, deny?: boolean, scope?: string, rule?: string}} a */
async function answer(q, { text = '', option, deny = false, scope, rule }) {
  if (!q.prompt) return send(path`/v1/questions/${q.id}/answer`, { text: option === undefined ? text : q.options[option], deny, scope, rule });
  return send('/v1/tasks/inputs', {
    task_id: q.prompt.task_id, agent_id: q.agent.id, idempotency_key: `answer-${q.id}`, ...typed(q, text, option),
  });
}

// typed returns the keystrokes to send to a protocol agent's terminal.
function typed(q, text, option) {
  if (q.kind === 'press_enter') return { kind: 'keys', text: 'Enter' };
  if (option === undefined) return { kind: 'text', text, send_enter: true };
  if (q.kind === 'yes_no') return { kind: 'text', text: q.options[option][0], send_enter: true };
  if (q.mode !== 'arrows') return { kind: 'text', text: String(option + 1), send_enter: true };
  const steps = option - q.selected;
  return { kind: 'keys', text: [...Array(Math.abs(steps)).fill(steps > 0 ? 'Down' : 'Up'), 'Enter'].join(' ') };
}

export const Question = memo(({ q, near }) => {
  const [text, setText] = useState('');
  const [busy, setBusy] = useState(false);
  const may = self.value.role !== 'viewer' && self.value.role !== 'worker';
  const give = async (a, said) => {
    setBusy(true);
    await attempt(said, () => answer(q, a));
    setBusy(false);
  };
  const deny = async () => {
    const why = await confirm({ title: 'Deny this?', text: html`<p>${q.text}</p><p class="faint">${q.where}</p>`, action: 'Deny', danger: true, input: 'Reason, for the agent' });
    if (why !== null) give({ text: why, deny: true }, `Denied: ${q.where}`);
  };
  const free = (e) => { e.preventDefault(); if (text.trim()) give({ text }, `Answered: ${q.where}`); };
  return html`<article class="question" aria-label=${`Question of ${q.where}`}>
    <header>
      <span class="status k-waiting"><span class="sign" aria-hidden="true">?</span>waiting</span>
      ${near || (q.href ? html`<a href=${q.href}>${q.where}</a>` : html`<span>${q.where}</span>`)}
      ${!near && q.of && html`<span class="faint">of ${q.of}</span>`}
      <span class="faint">asked <${Ago} time=${q.asked} /></span>
      ${q.expires && html`<span class="faint">then “${q.default || 'no answer'}” <${Until} time=${q.expires} /></span>`}
    </header>
    <p class="text">${q.text}</p>
    ${may ? html`<div class="answers">
      ${(q.options ?? []).map((o, i) => html`<button key=${i} disabled=${busy} class=${o === q.default ? 'preset' : ''} onClick=${() => give({ option: i }, `Answered “${o}”: ${q.where}`)}>${o}${o === q.default && html`<span class="faint"> default</span>`}</button>`)}
      ${q.kind === 'press_enter' && html`<button disabled=${busy} onClick=${() => give({}, `Enter pressed: ${q.where}`)}>Press Enter</button>`}
    </div>
    ${q.run && q.tool && q.suggestions?.length > 0 && html`<${Lasting} q=${q} busy=${busy} give=${give} />`}
    <form onSubmit=${free}>
      <input type="text" aria-label=${`Answer to ${q.where}`} placeholder="Answer in your own words" value=${text} onInput=${(e) => setText(e.currentTarget.value)} />
      <button type="submit" disabled=${busy || !text.trim()}>Answer</button>
      ${!q.prompt && html`<button type="button" class="quiet danger" disabled=${busy} onClick=${deny}>Deny…</button>`}
    </form>` : q.options?.length > 0 && html`<p class="faint">${q.options.join(' · ')}</p>`}
  </article>`;
});

// The answers to a request for permission that hold for longer than this request.
const scopes = [['task', 'Allow for this task', 'Allowed for this task'], ['run', 'Allow for this run', 'Allowed for this run'], ['always', 'Always allow…', 'Always allowed']];

function Lasting({ q, busy, give }) {
  const [rule, setRule] = useState(text(q.suggestions[0]));
  const allow = async (scope, said) => {
    if (scope === 'always' && await confirm({
      title: 'Always allow this?', action: 'Always allow',
      text: html`<p><code>${rule}</code></p><p class="faint">In all runs and projects, until it is revoked: <code>gaffer permissions grants</code> lists it.</p>`,
    }) === null) return;
    give({ text: 'allow', scope, rule: rule.trim() }, `${said}: ${rule.trim()}`);
  };
  const id = `rule-${q.id}`;
  return html`<div class="lasting" role="group" aria-label="Allow for longer">
    <label for=${id}>For longer, by the rule</label><input id=${id} type="text" class="mono" spellcheck="false" autocomplete="off" maxlength="16000" value=${rule} onInput=${(e) => setRule(e.currentTarget.value)} />
    ${q.suggestions.length > 1 && html`<div class="rules">${q.suggestions.map((s) => html`<button key=${s} type="button" class="small" aria-pressed=${s === rule} onClick=${() => setRule(text(s))}><code>${s}</code></button>`)}</div>`}
    <div class="answers">${scopes.map(([scope, label, said]) => html`<button key=${scope} type="button" disabled=${busy || !rule.trim()} onClick=${() => allow(scope, said)}>${label}</button>`)}</div>
  </div>`;
}

/** Shows the open questions, the oldest first. @param {{of?: (q: any) => boolean, most?: number}} props most: how many are shown until the user asks for all */
export function Questions({ of = () => true, most = Infinity }) {
  const [all, setAll] = useState(false);
  const list = openQuestions().filter(of);
  if (!list.length) return null;
  const shown = all ? list : list.slice(0, most);
  return html`<section class="questions" aria-label="Questions">
    <h2>${list.length === 1 ? 'One agent waits for you' : `${list.length} agents wait for you`}</h2>
    ${shown.map((q) => html`<${Question} key=${q.id} q=${q} />`)}
    ${list.length > most && html`<button onClick=${() => setAll(!all)}>${all ? `Show only ${most} questions` : `Show all ${list.length} questions`}</button>`}
  </section>`;
}
