// The list of projects on the server's machine whose documents can be shown.
import { html, useEffect, useState } from '../core/view.js';
import { get, send } from '../core/api.js';
import { link } from '../core/route.js';
import { attempt } from '../parts/dialog.js';
import { Ago, Empty, Wrong } from '../parts/status.js';

export function Page() {
  const [projects, setProjects] = useState(null);
  const [wrong, setWrong] = useState('');
  const load = () => get('/api/projects').then((all) => { setProjects(all); setWrong(''); }, (e) => setWrong(e.message));
  useEffect(() => { load(); }, []);
  const add = async (e) => {
    e.preventDefault();
    const input = e.currentTarget.elements.path;
    if (await attempt('The project is known now.', () => send('/api/projects', { path: input.value.trim() }))) { input.value = ''; load(); }
  };
  return html`<header class="section"><h1>Projects</h1><span class="faint">of the machine that the server runs on</span></header>
    ${wrong && html`<${Wrong} message=${wrong} />`}
    ${projects && !projects.length && html`<${Empty} title="No project is known." />`}
    <div class="cards">${(projects ?? []).map((p) => html`<article key=${p.path} class="card project">
      <span class="line"><strong>${p.name}</strong>${p.lastActivity && html`<span class="faint">changed <${Ago} time=${p.lastActivity} /></span>`}</span>
      <code class="faint where" title=${p.path}>${p.path}</code>
      <span class="links"><a href=${link('projects', p.path, 'build')}>Build</a><a href=${link('projects', p.path, 'team')}>Team</a><a href=${link('projects', p.path, 'sessions')}>Sessions</a></span>
    </article>`)}</div>
    <form class="add" onSubmit=${add}><input type="text" name="path" required aria-label="Path of a project" placeholder="Path of another project on that machine" /><button>Add</button></form>`;
}
