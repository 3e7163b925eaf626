// The view of one record with all its fields.
import { get, path } from '../core/api.js';
import { link, setQuery } from '../core/route.js';
import { exact } from '../core/time.js';
import { own } from '../core/words.js';
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
    ${row && html`<p><a href=${link('runs', row.run, 'tasks', row.task)}>Task ${row.task}</a> of <a href=${link('runs', row.run)}>run ${row.run}</a></p>`}
    ${both.output_summary && html`<p class="words">${String(both.output_summary)}</p>`}
    <${Verification} v=${both.verification} />
    ${row && html`<dl class="fields">${Object.entries(fields(row, run, result)).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${shown(name, value)}</dd></div>`)}</dl>`}
    ${run?.prompt_full && html`<details><summary>Prompt</summary><pre class="output">${String(run.prompt_full)}</pre></details>`}
  </section>`;
}

const kinds = { done: 'complete', failed: 'failed', timeout: 'timeout', running: 'running' };

/** How an attempt ended, in the ledger's words. */
export const Outcome = ({ status }) => html`<${Status} of=${own(kinds, status) ?? String(status)} word=${String(status)} />`;

// fields returns the fields of the run record and the result record that are not shown elsewhere.
function fields(row, run, result) {
  const all = { ...row, ...run, ...result };
  for (const name of ['prompt_full', 'verification', 'output_summary', 'run', 'task', 'has_run', 'has_result', 'bead']) delete all[name];
  return all;
}

function shown(name, value) {
  if (value === null || value === undefined || value === '') return html`<span class="faint">–</span>`;
  if (name.endsWith('_at') && !Number.isNaN(Date.parse(value))) return html`<time datetime=${value} title=${value}>${exact(value)}</time>`;
  return typeof value === 'object' ? html`<code>${JSON.stringify(value)}</code>` : String(value);
}

const verdicts = { pass: 'complete', clean: 'complete', fail: 'failed', issues: 'failed' };

function Verification({ v }) {
  if (!v || typeof v !== 'object') return null;
  const said = ['overall', 'lint', 'tests', 'ubs'].filter((name) => v[name]);
  return html`<div class="verified"><h3>Verification</h3>${said.map((name) => html`<span key=${name}>${name} <${Status} of=${own(verdicts, v[name]) ?? 'queued'} word=${String(v[name])} /></span>`)}
    ${v.lint_details !== undefined && html`<pre class="output">${typeof v.lint_details === 'string' ? v.lint_details : JSON.stringify(v.lint_details, null, 2)}</pre>`}</div>`;
}
