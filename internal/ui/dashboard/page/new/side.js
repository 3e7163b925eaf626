// What the server says about the draft: findings, the graph, the command, and the start.
import { go, link } from '../core/route.js';
import { html, useEffect, useRef, useState } from '../core/view.js';
import { many, text } from '../core/words.js';
import { announce } from '../parts/announce.js';
import { Command } from '../parts/project.js';
import { Wrong } from '../parts/status.js';
import { toast } from '../parts/toast.js';
import { Graph } from '../run/graph.js';
import { structureOf } from '../run/structure.js';
import { checked, current, draft, drawn, start } from './draft.js';
import { sign } from './editor.js';

const words = { problem: 'problem', warning: 'warning', missing: 'missing' };

/** The findings, each with its line. @param {{open: (line: number) => void}} props */
export function Findings({ open }) {
  const { check, error } = checked.value;
  const list = check?.findings ?? [];
  const said = useRef('');
  useEffect(() => {
    const now = !check ? '' : list.length ? many(list.length, 'finding') : 'no findings';
    if (now && now !== said.current && said.current) announce(`The plan has ${now}.`);
    said.current = now || said.current;
  }, [check]);
  if (error) return html`<${Wrong} message=${error}><p>The draft is kept; it is checked again after the next change.</p><//>`;
  if (!list.length) return null;
  return html`<section class="findings" aria-label="Findings"><h2>${many(list.length, 'finding')}</h2><ul>
    ${list.map((f, i) => html`<li key=${i} class=${f.severity}>
      <span class="kind"><span aria-hidden="true">${sign(f)}</span> ${words[f.severity] ?? f.severity}</span>
      ${f.line > 0 && !f.file ? html`<button type="button" class="quiet at" onClick=${() => open(f.line)}>line ${f.line}${f.column ? `, column ${f.column}` : ''}</button>` : f.file && html`<code>${f.file}${f.line ? `:${f.line}` : ''}</code>`}
      <span class="what">${f.text}</span>${f.next && html`<span class="what faint">${f.next}</span>`}</li>`)}</ul></section>`;
}

/** The graph of the last plan without problems. */
export function Drawing() {
  const before = useRef(null);
  const check = drawn.value;
  const stale = checked.value.check !== check;
  if (!check?.tasks.length) return html`<section class="drawing empty" aria-label="Graph"><p class="title">The tasks appear here while you write.</p></section>`;
  const rows = new Map(check.tasks.map((t) => [t.id, { ...t, status: 'planned', name: text(t.name) === t.id ? t.agent : t.name, href: t.line && draft.value.mode === 'plan' ? `#/new?line=${t.line}` : '#/new' }]));
  const structure = before.current = structureOf(check.tasks, before.current);
  return html`<section class=${`drawing${stale ? ' stale' : ''}`} aria-label="Graph">
    <h2>${many(check.tasks.length, 'task')}${structure.depth > 1 ? ` in ${structure.depth} stages` : ''}${stale && html` <span class="faint">without the last change</span>`}</h2>
    <${Graph} structure=${structure} shown=${structure.order} row=${(id) => rows.get(id)} refit /></section>`;
}

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The command that makes the same run in a terminal. */
export function Terminal() {
  const { place, mode, file, from } = draft.value;
  const { check } = checked.value;
  const [url, setUrl] = useState('');
  const plan = mode === 'plan' ? draft.value.text : check?.text ?? '';
  useEffect(() => {
    if (!plan) return setUrl('');
    const made = URL.createObjectURL(new Blob([plan], { type: 'text/yaml' }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [plan]);
  if (!check?.valid || !plan) return null;
  const name = mode === 'plan' && file && from === file ? file : 'plan.yaml';
  const far = place.workers ? ` --server ${location.origin}${place.on ? ` --on ${quoted(place.on)}` : ''}` : '';
  const command = `${check.command || `gaffer run ${quoted(name)}`} --detach${far}`;
  return html`<section class="terminal" aria-label="The same in a terminal"><h2>The same in a terminal</h2>
    <p class="faint">${place.workers ? 'In any folder.' : 'In the folder of the project.'} ${url && html`<a href=${url} download="plan.yaml">Download the plan</a>`}</p>
    <${Command} text=${command} /></section>`;
}

/** Why the run cannot be started now; empty if it can. */
function whyNot() {
  const { check, error } = checked.value;
  const { mode, text: plan, form } = draft.value;
  if (mode === 'plan' ? !plan.trim() : !form.prompts.some((p) => p.trim())) return mode === 'plan' ? 'There is no plan yet.' : 'There is no prompt yet.';
  if (!current.value) return 'It is being checked…';
  if (error) return 'It could not be checked.';
  if (!check) return 'It is being checked…';
  if (!check.valid) return 'The findings say what to correct.';
  return check.ready ? '' : 'Something is missing where it would run.';
}

/** The button that starts the run. @param {{act: {current: () => void}}} props act.current is what the button does, for the key */
export function Start({ act }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const why = whyNot();
  const count = checked.value.check?.tasks.length ?? 0;
  useEffect(() => setError(''), [draft.value]);
  const begin = act.current = async () => {
    if (busy || whyNot()) return;
    setBusy(true);
    try {
      const { run, warning } = await start();
      if (warning) toast(warning, { mood: 'bad' });
      else announce(`Run ${text(run.name)} is started.`);
      go(link('runs', run.id));
    } catch (e) {
      setError(e.message);
      setBusy(false);
    }
  };
  return html`<div class="start">
    ${error && html`<${Wrong} message=${error}><p>Nothing is lost: if the run was started after all, starting it again shows that run.</p><//>`}
    <button type="button" class="primary" disabled=${busy || Boolean(why)} aria-describedby="why-not" onClick=${begin}>${busy ? 'Starting…' : count > 1 ? `Start ${many(count, 'task')}` : 'Start'}</button>
    <span id="why-not" class="faint">${why || html`<kbd>Ctrl</kbd> <kbd>Enter</kbd>`}</span></div>`;
}
