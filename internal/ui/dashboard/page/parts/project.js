// Shared parts of the pages about a project's documents. The documents are files that
// other programs write too. The server sends their contents after every change.
import { html, signal, useEffect, useMemo } from '../core/view.js';
import { get, path } from '../core/api.js';
import { link } from '../core/route.js';
import { Status, Wrong } from './status.js';

const again = 2_000; // milliseconds before a new connection, after the browser has stopped trying

/** The contents of a project's documents, updated while a page shows them. */
class Documents {
  /** @param {string} project */
  constructor(project) {
    this.project = project;
    this.build = signal(null);
    this.team = signal(null);
    this.sessions = signal(null);
    this.lost = signal(false);
    this.problem = signal('');
  }

  open() {
    const stream = this.stream = new EventSource(path`/api/stream?project=${this.project}`);
    stream.onmessage = (e) => this.take(e.data);
    stream.onopen = () => { this.lost.value = false; this.problem.value = ''; };
    stream.onerror = () => this.torn(stream);
    stream.addEventListener('bye', () => this.torn(stream));
  }

  take(text) {
    let m;
    try { m = JSON.parse(text); } catch { return; }
    if (m.type === 'build-update') this.build.value = m.build;
    if (m.type === 'team-update') this.team.value = m.team;
    if (m.type === 'sessions-update') this.sessions.value = m.sessions ?? [];
  }

  // torn handles a broken stream. It sends another request to get the error message,
  // because a stream does not report one.
  torn(stream) {
    this.lost.value = true;
    if (stream.readyState !== EventSource.CLOSED) return;
    get(path`/api/team?project=${this.project}`).catch((e) => { this.problem.value = e.status ? e.message : ''; });
    this.timer = setTimeout(() => this.open(), again);
  }

  close() {
    this.stream.close();
    clearTimeout(this.timer);
  }
}

/** @param {string} project @returns {Documents} */
export function useDocuments(project) {
  const documents = useMemo(() => new Documents(project), [project]);
  useEffect(() => { documents.open(); return () => documents.close(); }, [documents]);
  return documents;
}

/** The last part of a path. @param {string} text */
export const base = (text) => String(text).split('/').filter(Boolean).pop() ?? text;

/** Says whether gaffer or another program writes a document. */
export const Whose = ({ ours, run }) => (ours
  ? html`<a class="whose ours" href=${link('runs', run)} title="gaffer runs this">gaffer’s run</a>`
  : html`<span class="whose" title="Another program writes these documents; gaffer only shows them">theirs</span>`);

/** The head of a project's pages. @param {{documents: Documents, here: string, children?: any}} props */
export function ProjectHead({ documents, here, children }) {
  const { project } = documents;
  const tab = (name, word) => html`<a href=${link('projects', project, name)} aria-current=${here === name ? 'page' : undefined}>${word}</a>`;
  return html`<header class="section"><h1 title=${project}>${base(project)}</h1>${children}
      ${documents.lost.value && html`<${Status} of="waiting" word="reconnecting" title="What you see may have changed" />`}</header>
    <nav class="tabs" aria-label="Documents">${tab('build', 'Build')}${tab('team', 'Team')}${tab('sessions', 'Sessions')}</nav>
    ${documents.problem.value && html`<${Wrong} message=${documents.problem.value} />`}`;
}

/** The problems that were found in the documents. @param {{list: string[]|undefined}} props */
export function Odd({ list }) {
  if (!Array.isArray(list) || !list.length) return null;
  return html`<details class="odd"><summary>${list.length === 1 ? 'One thing in these documents is odd' : `${list.length} things in these documents are odd`}</summary>
    <ul>${list.map((p, i) => html`<li key=${i}>${String(p)}</li>`)}</ul></details>`;
}

/** A command with a button to copy it. @param {{text: string}} props */
export function Command({ text }) {
  const copy = async (e) => {
    const button = e.currentTarget;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'Select it';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  };
  return html`<span class="command"><code>${text}</code><button class="quiet" onClick=${copy} aria-label=${`Copy ${text}`}>Copy</button></span>`;
}

/** The value if it is an array, else an empty array. */
export const list = (x) => (Array.isArray(x) ? x : []);
