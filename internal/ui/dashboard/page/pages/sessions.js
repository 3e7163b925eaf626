// The sessions of a project, from their documents: those of gaffer and of other
// programs.
import { html, useEffect, useState } from '../core/view.js';
import { ask, get, path } from '../core/api.js';
import { link, query, setQuery } from '../core/route.js';
import { list, Odd, ProjectHead, useDocuments, Whose } from '../parts/project.js';
import { Ago, Empty, Lasting, Progress, Status, Wrong } from '../parts/status.js';

export function Page({ project, id }) {
  const documents = useDocuments(project);
  const all = documents.sessions.value;
  if (id) return html`<${ProjectHead} documents=${documents} here="sessions" /><${Session} project=${project} id=${id} version=${list(all).find((s) => s.id === id)?.version} />`;
  return html`<${ProjectHead} documents=${documents} here="sessions" />
    ${all === null ? html`<p class="starting">Reading the documents…</p>`
    : !all.length ? html`<${Empty} title="There are no sessions in this project."><p>Each run of a plan in its folder becomes one: <code>gaffer run PLAN</code></p><//>`
      : html`<div class="cards">${all.map((s) => html`<${Card} key=${s.id} s=${s} project=${project} />`)}</div>`}`;
}

const Card = ({ s, project }) => html`<a class="card" href=${link('projects', project, 'sessions', s.id)}>
  <span class="line"><strong>${s.id}</strong><${Status} of=${s.status || 'unknown'} /></span>
  <${Progress} counts=${s.counts} />
  <span class="line faint"><span>${s.counts?.complete ?? 0} of ${s.counts?.total ?? 0} complete</span><span>${s.started && html`<${Ago} time=${s.started} />`}</span></span>
  <span class="line faint"><span>${s.source}</span><span>${s.ours ? 'gaffer’s run' : 'theirs'}</span></span>
  ${s.problem && html`<span class="bad">${s.problem}</span>`}</a>`;

function Session({ project, id, version }) {
  const [picture, setPicture] = useState(null);
  const [wrong, setWrong] = useState('');
  useEffect(() => {
    const left = new AbortController();
    get(path`/api/sessions/${id}?project=${project}`, left.signal).then((p) => { setPicture(p); setWrong(''); }, (e) => { if (e.name !== 'AbortError') setWrong(e.message); });
    return () => left.abort();
  }, [project, id, version]);
  if (wrong) return html`<${Wrong} message=${wrong}> <a href=${link('projects', project, 'sessions')}>All sessions</a><//>`;
  if (!picture) return html`<p class="starting">Reading the document…</p>`;
  const s = picture.session;
  const agent = query('agent');
  return html`<header class="section"><a href=${link('projects', project, 'sessions')}>All sessions</a><h2>${s.id}</h2><${Whose} ours=${s.ours} run=${s.run} /><${Status} of=${s.status || 'unknown'} /><span class="faint">${s.source} ${s.source_file}</span></header>
    <${Progress} counts=${s.counts} />
    ${list(s.waves).map((w) => html`<section key=${w.number} aria-label=${w.number ? `Wave ${w.number}` : 'In no wave'}><header class="section"><h3>${w.number ? `Wave ${w.number}` : 'In no wave'}</h3><${Status} of=${w.status || 'queued'} /></header>
      <div class="scroll"><table><thead><tr><th>Agent</th><th>Status</th><th>Time</th><th>Log</th></tr></thead><tbody>${[...list(w.agents)].sort((a, b) => (b.status === 'failed') - (a.status === 'failed')).map((a) => html`<tr key=${a.id}>
        <th scope="row">${a.name || a.id} <span class="faint">${a.id}</span>${a.error && html`<div class="bad">${a.error}</div>`}</th><td><${Status} of=${a.status || 'unknown'} /></td><td><${Lasting} from=${a.started} to=${a.ended} /></td>
        <td>${a.log && html`<button class="quiet" aria-pressed=${agent === a.id} onClick=${() => setQuery({ agent: agent === a.id ? '' : a.id })}>Show</button>`}</td></tr>`)}</tbody></table></div></section>`)}
    ${agent && html`<${Log} project=${project} id=${id} agent=${agent} version=${version} />`}
    <${Odd} list=${picture.problems} />`;
}

function Log({ project, id, agent, version }) {
  const [text, setText] = useState('');
  useEffect(() => {
    const left = new AbortController();
    ask(`${path`/api/sessions/${id}/agents/${agent}/log`}?${new URLSearchParams({ project, tail: '65536' })}`, { signal: left.signal })
      .then((r) => r.text()).then(setText, (e) => { if (e.name !== 'AbortError') setText(e.message); });
    return () => left.abort();
  }, [project, id, agent, version]);
  return html`<section aria-label=${`Log of ${agent}`}><header class="section"><h3>Log of ${agent}</h3><span class="faint">its end</span></header><pre class="panel theirlog" tabindex="0">${text}</pre></section>`;
}
