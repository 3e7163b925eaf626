// The page on which a run is prepared and started: a form, or the text of a plan, with
// what is wrong with it and the graph of its tasks beside it.
import { self } from '../core/fleet.js';
import { useKeys } from '../core/keys.js';
import { query, setQuery } from '../core/route.js';
import { useTitle } from '../core/title.js';
import { html, useEffect, useRef, useState } from '../core/view.js';
import { confirm } from '../parts/dialog.js';
import { Empty, Wrong } from '../parts/status.js';
import { checked, clear, current, draft, edit, fieldsOf, keepChecking, touched } from '../new/draft.js';
import { Editor } from '../new/editor.js';
import { Form } from '../new/form.js';
import { Place, loadModels, loadPlaces, loadPrograms, models, places, problem, programsOf } from '../new/places.js';
import { Drawing, Findings, Start, Terminal } from '../new/side.js';
import { Origin, Sources, takeFile, takeRun } from '../new/sources.js';

export function Page() {
  useTitle('New run');
  const { role } = self.value;
  if (role !== 'operator' && role !== 'admin') {
    return html`<header class="section"><h1>New run</h1></header>
      <${Empty} title="This browser may only look."><p>Its token has the role ${role}. Starting a run needs the role operator or admin.</p><p>Someone with such a token makes a link with <code>gaffer open</code>.</p><//>`;
  }
  return html`<${Workplace} />`;
}

function Workplace() {
  const act = useRef(() => {});
  const { place, mode } = draft.value;
  useEffect(() => { loadPlaces(); loadModels(); }, []);
  useEffect(() => keepChecking(), []);
  useEffect(() => { if (place.project && !place.workers) loadPrograms(place.project); }, [place.project, place.workers]);
  useEffect(() => {
    const run = query('run');
    if (!run) return;
    setQuery({ run: '' });
    takeRun(run);
  }, [query('run')]);
  useEffect(() => {
    const key = (e) => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey) && !e.target.closest?.('dialog')) { e.preventDefault(); act.current(); } };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, []);
  useKeys({ 'Ctrl Enter': [() => false, 'start the run'] });
  const forget = async () => {
    if (await confirm({ title: 'Discard this draft?', text: 'What you have entered is lost.', action: 'Discard', danger: true }) !== null) clear();
  };
  if (problem.value && !places.value) return html`<header class="section"><h1>New run</h1></header><${Wrong} message=${problem.value}><p><button onClick=${loadPlaces}>Try again</button></p><//>`;
  if (!places.value) return html`<p class="starting">Loading…</p>`;
  if (!places.value.folders.length && !places.value.workers.length) {
    return html`<header class="section"><h1>New run</h1></header><${Empty} title="There is no place for a run."><p>Start <code>gaffer serve</code> in a project, or a <code>gaffer worker</code> in a checkout of one.</p><//>`;
  }
  return html`<div class="new-run">
    <header class="section"><h1>New run</h1><${Modes} /><span class="space"></span>
      ${touched() && html`<button type="button" class="quiet" onClick=${forget}>Discard the draft</button>`}</header>
    ${places.value.refused && html`<p class="lacking">${places.value.refused}</p>`}
    <div class="columns">
      <div class="left"><${Place} />${mode === 'form' ? html`<${Form} programs=${programsOf(place)} models=${models.value} />` : html`<${Plan} />`}</div>
      <aside class="right"><${Start} act=${act} /><${Findings} open=${(line) => { if (mode === 'plan') setQuery({ line: String(line) }); }} /><${Drawing} /><${Terminal} /></aside>
    </div></div>`;
}

// The switch between the form and the plan. A form always has a plan; a plan has a form
// only if it says no more than the form has fields for.
function Modes() {
  const { mode, text } = draft.value;
  const { check } = checked.value;
  const toPlan = () => {
    if (mode === 'plan') return;
    if (check?.text && current.value) edit({ mode: 'plan', text: check.text, file: '', from: 'the form', notes: [] });
    else edit({ mode: 'plan' });
  };
  const form = mode === 'plan' && current.value ? check?.form : null;
  const empty = mode === 'plan' && !text.trim();
  const may = mode === 'form' || form || empty;
  const toForm = () => {
    if (mode === 'plan' && may) edit({ mode: 'form', ...(form ? { form: fieldsOf(form) } : {}), ...(empty ? { text: '' } : {}) });
  };
  return html`<div class="modes" role="group" aria-label="How to describe the run">
    <button type="button" aria-pressed=${mode === 'form'} aria-disabled=${!may} aria-describedby=${may ? undefined : 'no-form'} onClick=${toForm}>Form</button>
    <button type="button" aria-pressed=${mode === 'plan'} onClick=${toPlan}>Plan</button>
    ${!may && html`<span id="no-form" class="faint">${check?.form_why ? `Not a form: ${check.form_why}.` : ''}</span>`}</div>`;
}

const example = `# Paste a plan, or write one:
name: health check
tasks:
  - id: api
    agent: claude
    prompt: Add GET /health.
  - id: docs
    agent: claude
    prompt: Describe GET /health.
    after: [api]`;

function Plan() {
  const { text } = draft.value;
  const [over, setOver] = useState(false);
  const line = Number(query('line')) || 0;
  const drop = (e) => {
    const [file] = e.dataTransfer?.files ?? [];
    setOver(false);
    if (!file) return;
    e.preventDefault();
    takeFile(file);
  };
  const drag = (e) => { if ([...e.dataTransfer?.types ?? []].includes('Files')) { e.preventDefault(); setOver(true); } };
  return html`<div class=${`plan${over ? ' over' : ''}`} onDragOver=${drag} onDragLeave=${() => setOver(false)} onDrop=${drop}>
    <${Sources} /><${Origin} />
    <${Editor} label="Plan" placeholder=${example} value=${text} findings=${checked.value.check?.findings ?? []} line=${line} seen=${() => setQuery({ line: '' })} change=${(value) => edit({ text: value })} />
  </div>`;
}
