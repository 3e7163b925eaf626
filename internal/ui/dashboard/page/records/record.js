// The view of one record: what happened first, all its fields folded.
import { get, path } from '../core/api.js';
import { link, setQuery } from '../core/route.js';
import { exact, span } from '../core/time.js';
import { money, own, text } from '../core/words.js';
import { html, useEffect, useRef, useState } from '../core/view.js';
import { Status, Wrong } from '../parts/status.js';

/** @param {{row: any, bead: string}} props */
export function Record({ row, bead }) {
  const [found, setFound] = useState({});
  const ref = useRef(null);
  useEffect(() => {
    if (!row) return undefined;
    const stopper = new AbortController();
    get(path`/v1/records?run=${row.run}`, stopper.signal).then(({ records }) => {
      const mine = (r) => r?.bead === row.bead && (r.attempt ?? 1) === row.attempt;
      setFound({ run: (records.runs ?? []).find(mine), result: (records.results ?? []).find(mine) });
    }, (e) => { if (e.name !== 'AbortError') setFound({ error: e.message }); });
    return () => stopper.abort();
  }, [row?.run, row?.bead, row?.attempt]);
  useEffect(() => { ref.current?.focus(); }, [bead]);
  const close = () => setQuery({ bead: '', nth: '' });
  const { run, result } = found;
  const both = { ...run, ...result };
  return html`<section class="panel record" aria-label=${`Record of ${bead}`}>
    <header><h2 ref=${ref} tabindex="-1">${bead}${row && html` <span class="faint">attempt ${row.attempt}</span>`}</h2>${row && html`<${Outcome} status=${row.status} />`}<span class="space"></span><button onClick=${close}>Close</button></header>
    ${!row && html`<p>There is no such record among those that are shown. Other filters may show it.</p>`}
    ${found.error && html`<${Wrong} message=${found.error} />`}
    ${row && html`<p class="to"><a href=${link('runs', row.run, 'tasks', row.task)}>Task ${row.task}</a> of <a href=${link('runs', row.run)}>run ${row.run}</a></p>
      ${row.reason && html`<${Reason} of=${text(row.reason)} />`}`}
    ${both.output_summary && html`<p class="words">${text(both.output_summary)}</p>`}
    ${row && html`<dl class="fields">${facts(row, both).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`}
    <${Verification} v=${both.verification} />
    ${run?.prompt_full && html`<details><summary>Prompt</summary><pre class="output">${text(run.prompt_full)}</pre></details>`}
    ${(run || result) && html`<details class="all"><summary>All fields of the record</summary><${Value} of=${fields(row, run, result)} /></details>`}
  </section>`;
}

const kinds = { done: 'complete', failed: 'failed', timeout: 'timeout', running: 'running' };

/** How an attempt ended, in the ledger's words. */
export const Outcome = ({ status }) => html`<${Status} of=${own(kinds, status) ?? String(status)} word=${String(status)} />`;

// The text of a result that ends with a JSON object, as the roles of a team write it: the
// object's summary, else the text before the object, else its outcome.
function withoutObject(result) {
  const start = result.search(/\{\s*"/);
  if (start < 0) return result;
  let object;
  try { object = JSON.parse(result.slice(start)); } catch { return result; }
  const summary = Array.isArray(object.summary) ? object.summary.map(text).join(' ') : text(object.summary);
  return summary || result.slice(0, start).trim() || text(object.outcome) || text(object.status);
}

/** Why an attempt failed: the class of the failure, and the text behind it. For a complete one, its result. @param {{of: string}} props */
export function Reason({ of }) {
  const plain = withoutObject(of);
  const [, name, rest] = /^([a-z_]+)(?::\s*([^]*))?$/.exec(plain) ?? [null, '', plain];
  return html`<p class="reason">${name && html`<b>${name.replaceAll('_', ' ')}</b>${rest && ': '}`}${rest}</p>`;
}

// facts returns what a user wants to know first.
function facts(row, both) {
  const time = (value) => html`<time datetime=${value} title=${value}>${exact(value)}</time>`;
  return [
    ['Agent', [row.agent, row.model !== 'default' && row.model].filter(Boolean).map(text).join(', ')],
    ['Template', row.template && row.template !== 'custom' && text(row.template)],
    ['Began', row.started_at && time(row.started_at)],
    ['Took', Number.isFinite(row.duration_seconds) && span(row.duration_seconds * 1000)],
    ['Cost', money(row.cost_usd) || 'unknown'],
    ['Exit code', both.exit_code !== undefined && both.exit_code !== null && text(both.exit_code)],
    ['Branch', both.branch && html`<code>${text(both.branch)}</code>`],
  ].filter(([, value]) => value);
}

// fields returns the fields of the run record and the result record that are not shown elsewhere.
function fields(row, run, result) {
  const all = { ...row, ...run, ...result };
  for (const name of ['prompt_full', 'verification', 'output_summary', 'run', 'task', 'has_run', 'has_result', 'bead']) delete all[name];
  return all;
}

const deepest = 6; // nested values below this depth are shown as JSON

/** A value of a record: objects as a list of their fields, lists as lists. @param {{of: any, name?: string, depth?: number}} props */
function Value({ of, name = '', depth = 0 }) {
  if (of === null || of === undefined || of === '') return html`<span class="faint">–</span>`;
  if (name.endsWith('_at') && !Number.isNaN(Date.parse(of))) return html`<time datetime=${of} title=${of}>${exact(of)}</time>`;
  if (typeof of !== 'object' || depth > deepest) return text(of);
  if (Array.isArray(of)) return of.length ? html`<ul>${of.map((v, i) => html`<li key=${i}><${Value} of=${v} depth=${depth + 1} /></li>`)}</ul>` : html`<span class="faint">none</span>`;
  return html`<dl class="tree">${Object.entries(of).map(([key, v]) => html`<dt key=${key}>${key}</dt><dd><${Value} of=${v} name=${key} depth=${depth + 1} /></dd>`)}</dl>`;
}

const verdicts = { pass: 'complete', clean: 'complete', fail: 'failed', issues: 'failed' };

function Verification({ v }) {
  if (!v || typeof v !== 'object') return null;
  const said = ['overall', 'lint', 'tests', 'ubs'].filter((name) => v[name]);
  return html`<div class="verified"><h3>Verification</h3>${said.map((name) => html`<span key=${name}>${name} <${Status} of=${own(verdicts, v[name]) ?? 'queued'} word=${text(v[name])} /></span>`)}
    ${v.lint_details !== undefined && (typeof v.lint_details === 'string' ? html`<pre class="output">${v.lint_details}</pre>` : html`<${Value} of=${v.lint_details} />`)}</div>`;
}
