// The results of several agents that did the same task, side by side.
import { get, path, send } from '../core/api.js';
import { self } from '../core/fleet.js';
import { link } from '../core/route.js';
import { at, span } from '../core/time.js';
import { count, final, many, money } from '../core/words.js';
import { html, useEffect, useState } from '../core/view.js';
import { attempt } from '../parts/dialog.js';
import { Lasting, Status, Wrong } from '../parts/status.js';

/** @param {{source: import('./source.js').Source, task: any}} props task is the task that picks one of the candidates */
export function Candidates({ source, task }) {
  const [all, setAll] = useState(null);
  const [problem, setProblem] = useState('');
  const rows = [task, ...task.candidates.map((id) => source.detail.tasks.get(id))];
  const state = JSON.stringify(rows.map((t) => [t?.status, t?.attempt?.id, t?.attempt?.ended, t?.question?.id]));
  useEffect(() => {
    let over = false;
    const load = () => get(`${source.url}/candidates`).then(
      ({ comparison }) => { if (!over) { setAll(comparison); setProblem(''); } },
      (e) => { if (!over) setProblem(e.message); });
    const timer = setTimeout(load, all ? 100 : 0); // the end of a task causes several changes
    return () => { over = true; clearTimeout(timer); };
  }, [source, state]);
  const won = rows.find((t) => t?.id === all?.picked);
  const newer = won?.status === 'complete' && task.status === 'complete' && at(won.attempt?.ended) > at(task.attempt?.ended);
  const take = () => attempt(`Queued again: ${task.id}`, () => send(path`/v1/runs/${task.run}/retry`, { task: task.id }));
  return html`<section class="candidates" aria-label="Candidates">
    <header class="section"><h2>${many(task.candidates.length, 'candidate')}</h2>${all && html`<span class="faint">${decision(all)}</span>`}</header>
    ${problem && html`<${Wrong} message=${`The candidates could not be loaded: ${problem}`} />`}
    ${all?.picked && html`<p class="picked"><span class="sign" aria-hidden="true">✓</span><span><strong>${all.picked}</strong> is picked: ${all.why}${newer && html`. It has worked again since. <button disabled=${!may()} title=${may() ? undefined : 'Your login may only look.'} onClick=${take}>Take its newer work</button>`}</span></p>`}
    ${all ? html`<div class="rivals">${all.candidates.map((c) => html`<${Candidate} key=${c.task} c=${c} all=${all} row=${rows.find((t) => t?.id === c.task)} />`)}</div>` : !problem && html`<p class="faint">Loading…</p>`}
  </section>`;
}

const may = () => self.value.role !== 'viewer' && self.value.role !== 'worker';

// decision says what happens next; empty if a candidate is picked.
function decision(all) {
  if (all.picked) return '';
  if (all.question) return 'Pick one. Tasks that come after start from its result; the others stay on their branches.';
  if (all.status === 'failed') return 'None is picked. Retry lets the task pick again.';
  if (final(all.status)) return 'None is picked.';
  return all.candidates.every((c) => final(c.status)) ? 'One of them is being taken.' : 'One is picked when all have ended.';
}

function Candidate({ c, all, row }) {
  const [busy, setBusy] = useState(false);
  const pick = async () => {
    setBusy(true);
    if (!await attempt(`Picked: ${c.task}`, () => send(path`/v1/questions/${all.question.id}/answer`, { text: c.task, deny: false }))) setBusy(false);
  };
  const ended = final(c.status);
  const spent = ended || !row?.attempt?.spent ? c.spent : sum(row.spent, row.attempt.spent);
  const href = link('runs', all.run, 'tasks', c.task);
  const outcome = c.outcome && c.outcome !== c.status && c.status !== 'complete' && String(c.outcome).replaceAll('_', ' ');
  return html`<article class=${`panel candidate${c.picked ? ' won' : ''}`} aria-label=${c.task}>
    <header><h3><a href=${href}>${c.task}</a></h3><p class="faint">${c.agent}${c.model && ` ${c.model}`}</p></header>
    <p class="states"><${Status} of=${row?.question ? 'waiting' : c.status} />${c.picked && html` <${Status} of="complete" word="picked" />`}${outcome && html` <span class="faint">${outcome}</span>`}</p>
    <dl>
      <dt>Checks</dt><dd>${c.checks > 0 ? html`<span class=${c.passed < c.checks ? 'minus' : 'plus'}>${c.passed} of ${c.checks} passed</span>` : html`<span class="faint">none ran</span>`}</dd>
      <dt>Changed</dt><dd>${c.files > 0 ? html`${many(c.files, 'file')} <span class="plus">+${count(c.added)}</span> <span class="minus">−${count(c.removed)}</span>` : html`<span class="faint">${ended ? 'nothing' : '–'}</span>`}</dd>
      <dt>Cost</dt><dd>${money(spent?.usd) || (spent?.tokens > 0 ? `${count(spent.tokens)} tokens` : html`<span class="faint">${ended ? 'unknown' : '–'}</span>`)}</dd>
      <dt>Time</dt><dd>${!ended && row?.attempt?.started ? html`<${Lasting} from=${row.attempt.started} />` : c.worked_ms > 0 ? span(c.worked_ms) : html`<span class="faint">–</span>`}</dd>
    </dl>
    <p class="end">${c.summary ? endOf(c.summary) : html`<span class="faint">${ended ? 'It has said nothing.' : ''}</span>`}</p>
    <footer>${c.branch && html`<a class="button" href=${`${href}/review`} aria-label=${`Review ${c.task}`}>Review</a>`}
      ${all.question && c.status === 'complete' && html`<button class="primary" disabled=${!may() || busy} title=${may() ? undefined : 'Your login may only look.'} aria-label=${`Pick ${c.task}`} onClick=${pick}>Pick</button>`}</footer>
  </article>`;
}

// sum returns the cost of the attempts that have ended and of the one that runs.
const sum = (before, now) => ({ usd: (before?.usd ?? 0) + (now.usd ?? 0), tokens: (before?.tokens ?? 0) + (now.tokens ?? 0) });

const most = 400; // characters of a summary

// endOf returns the end of a summary, where agents describe the result.
function endOf(summary) {
  const text = String(summary).trim();
  return text.length <= most ? text : `…${text.slice(-most).replace(/^\S*\s/, '')}`;
}
