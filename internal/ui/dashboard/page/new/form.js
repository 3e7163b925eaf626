// The fields of a new run: prompts, and what holds for all of them.
import { html, useEffect, useRef } from '../core/view.js';
import { many } from '../core/words.js';
import { bestOf, draft, editForm } from './draft.js';

/** @param {{programs: any[]|null, models: string[]}} props programs is null until they are known */
export function Form({ programs, models }) {
  const f = draft.value.form;
  const n = bestOf(f);
  const trees = f.worktree || n > 1;
  return html`<form class="new-form" onSubmit=${(e) => e.preventDefault()}>
    <${Prompts} prompts=${f.prompts} />
    <fieldset><legend>Agent</legend>
      <div class="new-fields">
        <${Agent} label="Agent" value=${f.agent} programs=${programs} change=${(agent) => editForm({ agent })} />
        <${Text} label="Model" value=${f.model} list="models" placeholder="the agent’s choice" change=${(model) => editForm({ model })} />
        <${Count} label="Best of" hint="agents" value=${f.bestOf} min="2" max="16" placeholder="1" change=${(v) => editForm({ bestOf: v })} />
        ${n > 1 && html`<label class="new-field">Picked by<select value=${f.pick} onChange=${(e) => editForm({ pick: e.currentTarget.value })}>
          <option value="">you</option><option value="checks">checks, changed lines, cost</option><option value="judge">another agent</option></select></label>`}
      </div>
      ${n > 1 && html`<p class="faint">${n} agents do each prompt, each in a worktree of its own. One result is picked.</p>`}
      <${Lacking} programs=${programs} names=${agentsOf(f, n)} />
      ${n > 1 && html`<${Candidates} n=${n} form=${f} programs=${programs} />`}
      <datalist id="models">${models.map((m) => html`<option key=${m} value=${m}></option>`)}</datalist>
    </fieldset>
    <${Checks} verify=${f.verify} />
    <fieldset><legend>Where its changes go</legend>
      <label class="new-check"><input type="checkbox" checked=${trees} disabled=${n > 1} onChange=${(e) => editForm({ worktree: e.currentTarget.checked })} /> Each prompt works in its own git worktree and branch${n > 1 ? ', as several agents need it' : ''}</label>
      ${trees && html`<div class="new-fields">
        <label class="new-field">When complete<select value=${f.land} onChange=${(e) => editForm({ land: e.currentTarget.value })}>
          <option value="">wait for my review</option><option value="merge">merge</option><option value="pr">open a pull request</option><option value="keep">stay on the branch</option></select></label>
        <${Text} label="Into branch" value=${f.into} placeholder="the one that is checked out" change=${(into) => editForm({ into })} />
      </div>`}
    </fieldset>
    <fieldset><legend>Limits</legend>
      <div class="new-fields">
        <${Count} label="Budget" hint="USD" value=${f.budget} min="0" step="any" placeholder="no limit" change=${(budget) => editForm({ budget })} />
        <${Count} label="At once" hint="tasks" value=${f.parallel} min="0" placeholder="8" change=${(parallel) => editForm({ parallel })} />
        <${Count} label="Retries" hint="after a failure" value=${f.retries} min="0" max="100" placeholder="0" change=${(retries) => editForm({ retries })} />
        <${Text} label="Time limit" value=${f.timeout} placeholder="none; such as 45m" change=${(timeout) => editForm({ timeout })} />
        <label class="new-field">If a task fails<select value=${f.onFailure} onChange=${(e) => editForm({ onFailure: e.currentTarget.value })}>
          <option value="">the others go on</option><option value="stop">start no more</option><option value="stop-now">end the others</option></select></label>
      </div>
    </fieldset>
    <fieldset><legend>Questions and permissions</legend>
      <div class="new-fields">
        <label class="new-field">If an agent asks<select value=${f.questions} onChange=${(e) => editForm({ questions: e.currentTarget.value })}>
          <option value="">ask me</option><option value="rules">rules decide, the rest is denied</option><option value="allow">allow, except what rules deny</option><option value="deny">deny everything</option></select></label>
      </div>
      <p class="faint">${policies[f.questions]}</p>
    </fieldset>
  </form>`;
}

// What happens to questions and requests for permission, by the value of the field.
const policies = {
  '': 'Your rules answer what they can. You are asked about the rest, and the task waits.',
  rules: 'Your rules answer. What no rule names is denied at once, so that the task never waits, unless a rule says to ask you.',
  allow: 'Everything is allowed at once that no rule denies or asks about.',
  deny: 'Everything that an agent asks for is denied at once.',
};

const Text = ({ label, value, change, ...more }) => html`<label class="new-field">${label}<input type="text" maxlength="200" spellcheck="false" autocomplete="off" value=${value} onInput=${(e) => change(e.currentTarget.value)} ...${more} /></label>`;

const Count = ({ label, hint, value, change, ...more }) => html`<label class="new-field narrow"><span>${label} ${hint && html`<span class="faint">${hint}</span>`}</span><input type="number" inputmode="decimal" value=${value} onInput=${(e) => change(e.currentTarget.value)} ...${more} /></label>`;

// What keeps an agent from being used, in a word.
const lack = (p) => (!p.installed ? 'not installed' : p.problem ? 'not ready' : '');

function Agent({ label, value, programs, change, empty = 'claude, the default' }) {
  const known = (programs ?? []).filter((p) => p.name !== 'fake');
  const fake = (programs ?? []).find((p) => p.name === 'fake');
  const option = (p) => html`<option key=${p.name} value=${p.name}>${p.name}${lack(p) ? ` — ${lack(p)}` : p.version ? ` (${p.version})` : ''}</option>`;
  const missing = value && programs && !programs.some((p) => p.name === value);
  return html`<label class="new-field">${label}<select value=${value} onChange=${(e) => change(e.currentTarget.value)}>
    <option value="">${empty}</option>
    ${known.map(option)}
    ${fake && html`<option value="fake">fake (uses no model)</option>`}
    ${(missing || (value && !programs)) && html`<option value=${value}>${value}</option>`}
  </select></label>`;
}

// The names of the agents that the form uses.
const agentsOf = (f, n) => [...new Set(n > 1 ? Array.from({ length: n }, (_, i) => f.candidates[i]?.agent || f.agent || 'claude') : [f.agent || 'claude'])];

function Lacking({ programs, names }) {
  if (!programs) return html`<p class="faint" role="status">Looking for the agents that are installed…</p>`;
  return programs.filter((p) => p.problem && names.includes(p.name)).map((p) => html`<p key=${p.name} class="lacking"><span aria-hidden="true">⊘</span> ${p.problem}</p>`);
}

function Candidates({ n, form, programs }) {
  const change = (i, part) => {
    const candidates = Array.from({ length: n }, (_, k) => ({ agent: '', model: '', ...form.candidates[k] }));
    candidates[i] = { ...candidates[i], ...part };
    editForm({ candidates });
  };
  return html`<div class="new-candidates">${Array.from({ length: n }, (_, i) => {
    const c = form.candidates[i] ?? { agent: '', model: '' };
    return html`<div key=${i} class="new-fields">
      <${Agent} label=${`Candidate ${i + 1}`} value=${c.agent} programs=${programs} empty=${form.agent || 'claude'} change=${(agent) => change(i, { agent })} />
      <${Text} label=${`Model of candidate ${i + 1}`} value=${c.model} list="models" placeholder=${form.model || 'the agent’s choice'} change=${(model) => change(i, { model })} /></div>`;
  })}</div>`;
}

function Prompts({ prompts }) {
  const list = useRef(null);
  const grown = useRef(prompts.length);
  useEffect(() => {
    if (prompts.length > grown.current) list.current.querySelectorAll('textarea')[prompts.length - 1]?.focus();
    grown.current = prompts.length;
  }, [prompts.length]);
  const set = (i, value) => editForm({ prompts: prompts.map((p, k) => (k === i ? value : p)) });
  const drop = (i) => editForm({ prompts: prompts.length > 1 ? prompts.filter((_, k) => k !== i) : [''] });
  const split = (i) => editForm({ prompts: prompts.flatMap((p, k) => (k === i ? linesOf(p) : [p])) });
  return html`<fieldset class="prompts" ref=${list}><legend>Prompts</legend>
    ${prompts.map((p, i) => html`<div key=${i} class="prompt">
      <textarea aria-label=${prompts.length > 1 ? `Prompt ${i + 1}` : 'Prompt'} rows=${Math.max(3, Math.min(14, p.split('\n').length + 1))} value=${p}
        placeholder=${i ? 'Another task, done at the same time' : 'What shall the agent do? Each prompt becomes a task.'} onInput=${(e) => set(i, e.currentTarget.value)}></textarea>
      <div class="actions">
        ${linesOf(p).length > 1 && html`<button type="button" class="quiet" onClick=${() => split(i)}>Make ${many(linesOf(p).length, 'prompt')} of its lines</button>`}
        ${(prompts.length > 1) && html`<button type="button" class="quiet" aria-label=${`Remove prompt ${i + 1}`} onClick=${() => drop(i)}>Remove</button>`}
      </div></div>`)}
    <button type="button" onClick=${() => editForm({ prompts: [...prompts, ''] })}>Add a prompt</button>
  </fieldset>`;
}

const linesOf = (text) => text.split('\n').map((l) => l.trim()).filter(Boolean);

function Checks({ verify }) {
  const list = useRef(null);
  const grown = useRef(verify.length);
  useEffect(() => {
    if (verify.length > grown.current) list.current.querySelectorAll('input')[verify.length - 1]?.focus();
    grown.current = verify.length;
  }, [verify.length]);
  return html`<fieldset class="new-checks" ref=${list}><legend>Checks</legend>
    ${!verify.length && html`<p class="faint">Shell commands that must succeed before a task counts as done. They run in its folder.</p>`}
    ${verify.map((v, i) => html`<div key=${i} class="one"><input type="text" class="mono" aria-label=${`Check ${i + 1}`} spellcheck="false" placeholder="go test ./..." value=${v}
      onInput=${(e) => editForm({ verify: verify.map((old, k) => (k === i ? e.currentTarget.value : old)) })} />
      <button type="button" class="quiet" aria-label=${`Remove check ${i + 1}`} onClick=${() => editForm({ verify: verify.filter((_, k) => k !== i) })}>Remove</button></div>`)}
    <button type="button" onClick=${() => editForm({ verify: [...verify, ''] })}>Add a check</button>
  </fieldset>`;
}
