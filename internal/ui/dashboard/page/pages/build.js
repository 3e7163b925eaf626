// The page of a project's build and its chunks, from the workflow's documents. What needs
// the user is first, then what failed.
import { html, memo, useState } from '../core/view.js';
import { path, send } from '../core/api.js';
import { query, setQuery } from '../core/route.js';
import { useTitle } from '../core/title.js';
import { kind, many, own, sign } from '../core/words.js';
import { at } from '../core/time.js';
import { attempt, confirm } from '../parts/dialog.js';
import { base, Command, list, Odd, ProjectHead, useDocuments, Whose } from '../parts/project.js';
import { Ago, Empty, Lasting, Progress, Status } from '../parts/status.js';

export function Page({ project }) {
  useTitle(`Build · ${base(project)}`);
  const documents = useDocuments(project);
  const b = documents.build.value;
  return html`<${ProjectHead} documents=${documents} here="build">${b?.found && html`<${Whose} ours=${b.ours} run=${b.run} /> <${Status} of=${b.status || 'unknown'} />`}<//>
    ${b === null ? html`<p class="starting">Reading the documents…</p>` : html`<${Mission} b=${b} project=${project} />`}`;
}

function Mission({ b, project }) {
  return html`<${NeedsYou} b=${b} />
    <div class="mission">
      <div>
        ${b.found ? html`<${Chunks} b=${b} />` : html`<${Empty} title="There is no build in this project."><p>${b.next || html`<code>gaffer build</code> begins one.`}</p><//>`}
        <${Feed} feed=${list(b.feed)} project=${project} />
      </div>
      <aside><${Facts} b=${b} /><${Inbox} items=${list(b.inbox)} project=${project} /></aside>
    </div>
    <${Odd} list=${b.problems} />`;
}

/** Chunks that wait for the user, alerts with critical ones first, and how to resume. */
function NeedsYou({ b }) {
  const waiting = list(b.chunks).filter((c) => c.status === 'awaiting-user');
  // What waits for the user is listed above; an alert that says only that is left out.
  const same = (a) => waiting.length > 0 && (a.kind === 'run' || a.kind === 'chunk') && /is awaiting-user$/.test(a.text);
  const alerts = list(b.alerts).filter((a) => !same(a)).sort((x, y) => (y.level === 'critical') - (x.level === 'critical'));
  if (!waiting.length && !alerts.length && !b.resume) return null;
  return html`<section class="needs" aria-label="Needs you"><header class="section"><h2>Needs you</h2></header>
    ${waiting.length > 0 && html`<ul class="panel waits">${waiting.map((c) => html`<li key=${c.id}><${Status} of="waiting" word=${c.status} /> <b>${c.name || c.id}</b> <span class="faint">waits until you have done it</span> ${b.ours && c.id && html`<${Command} text=${`gaffer build done ${c.id}`} />`}</li>`)}</ul>`}
    ${alerts.length > 0 && html`<div class="alerts">${alerts.map((a, i) => html`<p key=${i} class=${a.level === 'critical' ? 'critical' : ''}>
      <span class="sign" aria-hidden="true">${a.level === 'critical' ? '✗' : '!'}</span> <b>${a.level}</b> ${a.text} ${a.at && html`<span class="faint"><${Ago} time=${a.at} /></span>`}</p>`)}</div>`}
    ${b.resume && html`<${Resume} r=${b.resume} />`}</section>`;
}

// The text of a build that can be resumed: its first line, and the lines that say what is
// done and what remains. The choices at its end are a list of their own.
function splitText(text) {
  const lines = String(text ?? '').split('\n');
  const end = lines.findIndex((l) => /^\(1\)/.test(l));
  return [lines[0], lines.slice(1, end < 0 ? undefined : end).join('\n').trim()];
}

function Resume({ r }) {
  const [first, rest] = splitText(r.text);
  return html`<section class="panel resume" aria-label="Resume"><p><b>${first}</b></p>${rest && html`<details><summary>What is done, and what remains</summary><pre>${rest}</pre></details>`}
  <ul>${list(r.choices).map((c) => html`<li key=${c.number}>(${c.number}) ${c.text} ${c.command && html`<${Command} text=${c.command} />`}</li>`)}</ul>
  ${list(r.stale).map((s, i) => html`<div key=${i} class="stale"><p>${s.text}</p><ul>${list(s.choices).map((c) => html`<li>(${c.number}) ${c.text} ${c.command && html`<${Command} text=${c.command} />`}</li>`)}</ul></div>`)}</section>`;
}

const wide = 210;
const high = 58;
const gapX = 56;
const gapY = 16;

// Lays out the graph in columns: a chunk is to the right of all chunks that it depends on.
function placed(chunks) {
  const rows = [];
  const places = new Map();
  for (const c of chunks) {
    const layer = Math.max(0, Number(c.layer) || 0);
    rows[layer] = (rows[layer] ?? 0) + 1;
    places.set(c.id, { x: layer * (wide + gapX), y: (rows[layer] - 1) * (high + gapY) });
  }
  const most = Math.max(1, ...rows.map((n) => n ?? 0));
  return { places, width: rows.length * (wide + gapX) - gapX, height: most * (high + gapY) - gapY };
}

function Chunks({ b }) {
  const chunks = list(b.chunks);
  const { places, width, height } = placed(chunks);
  const chosen = query('chunk');
  const p = b.progress ?? {};
  const counts = { total: p.total, complete: p.completed, failed: p.failed, running: p.active };
  return html`<section aria-label="Chunks"><header class="section"><h2>Chunks</h2><span class="faint">${p.completed ?? 0} of ${many(p.total ?? chunks.length, 'chunk')}${b.phase ? `, ${b.phase}` : ''}</span>
    ${b.started && html`<span class="faint">began <${Ago} time=${b.started} /></span>`}</header>
    <${Progress} counts=${counts} />
    <${Failed} chunks=${chunks} />
    ${chunks.length > 0 && html`<div class="chunks" role="group" aria-label="Chunk graph"><div style=${{ width: `${width}px`, height: `${height}px` }}>
      <svg width=${width} height=${height} aria-hidden="true">${chunks.flatMap((c) => list(c.dependsOn).map((d) => html`<${Edge} key=${`${d} ${c.id}`} from=${places.get(d)} to=${places.get(c.id)} />`))}</svg>
      ${chunks.map((c) => html`<${Chunk} key=${c.id} c=${c} x=${places.get(c.id).x} y=${places.get(c.id).y} chosen=${chosen === c.id} />`)}
    </div></div>`}
    ${chunks.filter((c) => c.id === chosen).map((c) => html`<${About} c=${c} />`)}</section>`;
}

/** The chunks that failed or are only partly complete. */
function Failed({ chunks }) {
  const bad = chunks.filter((c) => c.status === 'failed' || c.status === 'completed-partial');
  if (!bad.length) return null;
  return html`<ul class="failures" aria-label="Chunks that failed">${bad.map((c) => html`<li key=${c.id}><button class="quiet" onClick=${() => setQuery({ chunk: c.id })}><${Status} of="failed" word=${c.status} /> <b>${c.name || c.id}</b>${c.attempt > 1 ? ` after ${c.attempt} attempts` : ''}</button></li>`)}</ul>`;
}

function Edge({ from, to }) {
  if (!from || !to) return null;
  const [x1, y1, x2, y2] = [from.x + wide, from.y + high / 2, to.x, to.y + high / 2];
  const half = Math.max(20, (x2 - x1) / 2);
  return html`<path d=${`M${x1} ${y1} C${x1 + half} ${y1} ${x2 - half} ${y2} ${x2} ${y2}`} />`;
}

const Chunk = memo(({ c, x, y, chosen }) => html`<button class=${`chunk k-${kind(c.status)}`} aria-pressed=${chosen} style=${{ left: `${x}px`, top: `${y}px`, width: `${wide}px`, height: `${high}px` }}
  onClick=${() => setQuery({ chunk: chosen ? '' : c.id })}><span class="name">${c.name || c.id}</span>
  <span class="what"><span aria-hidden="true">${sign(c.status)}</span> ${c.status || 'unknown'}${c.attempt > 1 ? ` r${c.attempt}` : ''}</span></button>`);

const About = ({ c }) => html`<dl class="panel about">
  <dt>Chunk</dt><dd>${c.id} ${c.name}</dd>
  <dt>Sections</dt><dd>${list(c.sections).join(', ') || 'none'}</dd>
  <dt>Scenarios</dt><dd>${list(c.scenarios).join('; ') || 'none'}</dd>
  <dt>After</dt><dd>${list(c.dependsOn).join(', ') || 'nothing'}</dd>
  ${c.started && html`<dt>Took</dt><dd><${Lasting} from=${c.started} to=${c.ended} /></dd>`}
  ${c.spec && html`<dt>Spec</dt><dd>${c.spec}</dd>`}</dl>`;

function Facts({ b }) {
  const score = b.score;
  const context = b.context ?? {};
  const level = own({ warning: 'waiting', critical: 'failed', ok: 'complete' }, context.level);
  return html`<section class="panel facts" aria-label="Facts">
    ${score && html`<div class="score"><b>${score.satisfied}<span class="faint"> / ${score.total}</span></b><span class="faint">scenarios satisfied</span>
      <${Progress} counts=${{ total: score.total, complete: score.satisfied }} /></div>`}
    <dl>
      ${b.command && html`<dt>Command</dt><dd>${b.command}${b.step ? `, ${b.step}` : ''}</dd>`}
      ${b.section && html`<dt>At work on</dt><dd>${b.section.number} ${b.section.title || b.section.alias}</dd>`}
      <dt>Context</dt><dd>${context.usage === undefined ? html`<span class="faint">unknown</span>` : html`<${Status} of=${level ?? 'queued'} word=${`${Math.round(context.usage)} % ${context.level}`} />`}</dd>
      ${context.lastCheckpoint && html`<dt>Checkpoint</dt><dd><${Ago} time=${context.lastCheckpoint} /></dd>`}
      ${b.next && html`<dt>Next</dt><dd>${b.next}</dd>`}
    </dl></section>`;
}

const filters = ['all', 'chunks', 'scenarios', 'tools', 'verification', 'context'];

function Feed({ feed, project }) {
  const wanted = query('feed', 'all');
  const shown = feed.filter((e) => wanted === 'all' || e.filter === wanted).slice(-50).reverse();
  return html`<section aria-label="Feed"><header class="section"><h2>Feed</h2>
    <div class="counters" role="group" aria-label="Show only">${filters.map((f) => html`<button key=${f} class="counter" aria-pressed=${wanted === f} onClick=${() => setQuery({ feed: f === 'all' ? '' : f })}>${f}</button>`)}</div>
    <a href=${path`/api/build-log?project=${project}`} download="build-log.json">Export</a></header>
    ${shown.length ? html`<ol class="feed">${shown.map((e, i) => html`<li key=${`${e.at} ${i}`}><span class="when faint">${e.at && html`<${Ago} time=${e.at} />`}</span><span class="kind">${e.kind}</span><span>${e.chunk && html`<b>${e.chunk}</b> `}${e.text}${e.attempt > 1 ? ` (attempt ${e.attempt})` : ''}<${Checks} all=${list(e.checks)} /></span></li>`)}</ol>`
    : html`<p class="faint">Nothing of that sort has happened.</p>`}</section>`;
}

const passed = (result) => /^(pass|passed|ok|success)/i.test(String(result));

/** The checks of a chunk; those that did not pass are first. */
const Checks = ({ all }) => all.length > 0 && html`<span class="checks">${[...all].sort((a, b) => passed(a.result) - passed(b.result)).map((c, i) => html`<span key=${i} class=${passed(c.result) ? '' : 'bad'}><span aria-hidden="true">${passed(c.result) ? '✓' : '✗'}</span> ${c.name} ${c.result}${c.retried ? ', retried' : ''}</span>`)}</span>`;

function Inbox({ items, project }) {
  const [text, setText] = useState('');
  const [type, setType] = useState('');
  // An idea that starts with a link is a reference unless the user chooses another type.
  const meant = type || (/^https?:/.test(text.trim()) ? 'reference' : 'evolve');
  const add = async (e) => {
    e.preventDefault();
    if (await attempt('It is in the inbox.', () => send(path`/api/inbox?project=${project}`, { type: meant, content: text }))) { setText(''); setType(''); }
  };
  const drop = async (i) => {
    if (await confirm({ title: 'Remove this from the inbox?', text: i.content, action: 'Remove', danger: true }) !== null) attempt('Removed.', () => send(`${path`/api/inbox/${i.id}`}?${new URLSearchParams({ project })}`, {}, 'DELETE'));
  };
  const sorted = [...items].sort((a, b) => at(b.at) - at(a.at)).slice(0, 100);
  return html`<section class="panel inbox" aria-label="Inbox"><h2>Inbox</h2>
    <form onSubmit=${add}><input type="text" aria-label="New idea" placeholder="An idea, a link, a wish" value=${text} onInput=${(e) => setText(e.currentTarget.value)} />
      <select aria-label="What it is" value=${meant} onChange=${(e) => setType(e.currentTarget.value)}>${['evolve', 'feature', 'reference'].map((t) => html`<option value=${t}>${t}</option>`)}</select><button disabled=${!text.trim()}>Add</button></form>
    <ul>${sorted.map((i) => html`<li key=${i.id}><div><${Status} of=${i.status === 'processed' || i.status === 'incorporated' ? 'complete' : i.status === 'error' ? 'failed' : i.status === 'processing' ? 'running' : 'queued'} word=${i.status} /> <span class="faint"><${Ago} time=${i.at} /></span>
        <button class="quiet" aria-label=${`Remove ${i.content}`} onClick=${() => drop(i)}>×</button></div>
      <p>${i.content}</p>${i.analysis && html`<p class="faint">${i.analysis.summary} ${list(i.analysis.affectedSections).join(', ')}</p>`}${i.error && html`<p class="bad">${i.error}</p>`}</li>`)}</ul></section>`;
}

