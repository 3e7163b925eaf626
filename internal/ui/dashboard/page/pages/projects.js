// The list of projects on the server's machine whose documents can be shown.
import { html, useEffect, useState } from '../core/view.js';
import { get, send } from '../core/api.js';
import { runs } from '../core/fleet.js';
import { link } from '../core/route.js';
import { at } from '../core/time.js';
import { useTitle } from '../core/title.js';
import { count, final, many, text } from '../core/words.js';
import { attempt } from '../parts/dialog.js';
import { Ago, Empty, Progress, Status, Wrong } from '../parts/status.js';

// of returns the runs of a project, the latest first. A run has the project's path on its
// own machine, and its name on a server.
const of = (p, all) => all.filter((r) => r.project === p.path || r.project === p.name).sort((a, b) => at(b.created) - at(a.created));

export function Page() {
  useTitle('Projects');
  const [projects, setProjects] = useState(null);
  const [wrong, setWrong] = useState('');
  const load = () => get('/api/projects').then((all) => { setProjects(all); setWrong(''); }, (e) => setWrong(e.message));
  useEffect(() => { load(); }, []);
  const add = async (e) => {
    e.preventDefault();
    const input = e.currentTarget.elements.path;
    if (await attempt('The project is known now.', () => send('/api/projects', { path: input.value.trim() }))) { input.value = ''; load(); }
  };
  const all = runs.all();
  const active = (p) => of(p, all).filter((r) => !final(r.status)).length;
  const sorted = [...(projects ?? [])].sort((a, b) => active(b) - active(a) || (at(b.lastActivity) || 0) - (at(a.lastActivity) || 0));
  return html`<header class="section"><h1>Projects</h1><span class="faint">of the machine that the server runs on</span></header>
    ${wrong && html`<${Wrong} message=${wrong} />`}
    ${!projects && !wrong && html`<p class="starting">Loading…</p>`}
    ${projects && !projects.length && html`<${Empty} title="No project is known."><p>Add the path of one below, or run a plan in its folder: <code>gaffer run PLAN</code></p><//>`}
    <div class="cards">${sorted.map((p) => html`<${Project} key=${p.path} p=${p} runs=${of(p, all)} />`)}</div>
    <form class="add" onSubmit=${add}><input type="text" name="path" required aria-label="Path of a project" placeholder="Path of another project on that machine" /><button>Add</button></form>`;
}

function Project({ p, runs: list }) {
  const active = list.filter((r) => !final(r.status)).length;
  const last = list[0];
  return html`<article class="card project"><span class="line"><strong>${p.name}</strong>${active > 0 ? html`<${Status} of="running" word=${`${many(active, 'run')} at work`} />` : p.lastActivity && html`<span class="faint">changed <${Ago} time=${p.lastActivity} /></span>`}</span>
    <code class="faint where" title=${p.path}>${p.path}</code>
    ${last ? html`<span class="last"><span class="line"><a href=${link('runs', last.id)}>${text(last.name) || last.id}</a><${Status} of=${text(last.status)} /></span><${Progress} counts=${last.counts} />
      <span class="line faint"><span>${count(last.counts?.complete ?? 0)} of ${many(last.counts?.total ?? 0, 'task')}${last.counts?.failed > 0 ? `, ${count(last.counts.failed)} failed` : ''}</span><${Ago} time=${last.created} /></span></span>` : html`<span class="faint">No run is known here.</span>`}
    <span class="links"><a href=${link('projects', p.path, 'build')}>Build</a><a href=${link('projects', p.path, 'team')}>Team</a><a href=${link('projects', p.path, 'sessions')}>Sessions</a>${last && html`<a href=${`#/cost?project=${encodeURIComponent(last.project)}`}>Cost</a>`}</span>
  </article>`;
}
