// The search over the names, prompts and results of all runs.
import { get, path } from '../core/api.js';
import { link, query, setQuery } from '../core/route.js';
import { useTitle } from '../core/title.js';
import { html, useEffect, useRef, useState } from '../core/view.js';
import { many, text } from '../core/words.js';
import { announce } from '../parts/announce.js';
import { useList } from '../parts/list.js';
import { Ago, Empty, Status, Wrong } from '../parts/status.js';

const limit = 100;

export function Page() {
  const words = query('q').trim();
  const { found, busy, error } = useSearch(words);
  const input = useRef(null);
  useTitle(words ? `“${words}”` : 'Search');
  useEffect(() => { if (!words) input.current.focus(); }, []);
  return html`<header class="section"><h1>Search</h1></header>
    <input ref=${input} class="searchbox" type="search" data-filter placeholder="Words in names, prompts and results" aria-label="Search runs, tasks, prompts and results" maxlength="60" value=${query('q')} onInput=${(e) => setQuery({ q: e.currentTarget.value })} />
    ${error && html`<${Wrong} message=${error} />`}
    ${!words ? html`<${Empty} title="Type words of a run, a task, a prompt or a result."><p>All of the words must occur. The latest runs come first.</p><//>`
    : found ? html`<${Found} found=${found} words=${words} busy=${busy} />`
      : !error && html`<p class="starting" role="status">Searching…</p>`}`;
}

function useSearch(words) {
  const [state, setState] = useState({ found: null, busy: false, error: '' });
  useEffect(() => {
    if (!words) return setState({ found: null, busy: false, error: '' });
    setState((s) => ({ ...s, busy: true }));
    const left = new AbortController();
    const timer = setTimeout(() => {
      get(path`/v1/search?q=${words}&limit=${limit}`, left.signal).then(
        (found) => { setState({ found, busy: false, error: '' }); announce(`${many(found.hits.length, 'result')}`); },
        (e) => { if (e.name !== 'AbortError') setState({ found: null, busy: false, error: e.message }); });
    }, 200);
    return () => { clearTimeout(timer); left.abort(); };
  }, [words]);
  return state;
}

function Found({ found, words, busy }) {
  const hits = found.hits;
  const { list, item } = useList({ count: hits.length, key: 'search' });
  if (!hits.length && !busy) return html`<${Empty} title="Nothing contains all of these words."><p>Try fewer words, or a part of a word.</p>${found.partial && html`<${Partial} />`}<//>`;
  return html`<p class="faint" role="status">${busy ? 'Searching…' : hits.length < limit ? many(hits.length, 'result') : `The first ${limit} results`}</p>
    <ul class="hits" ...${list}>${hits.map((h, i) => html`<li key=${`${h.run} ${h.task}`}><a ...${item(i)} href=${h.task ? link('runs', h.run, 'tasks', h.task) : link('runs', h.run)}><${Hit} h=${h} words=${words} /></a></li>`)}</ul>
    ${found.partial && html`<${Partial} />`}`;
}

const Partial = () => html`<p class="faint">There are many tasks: prompts and results of older runs were not searched.</p>`;

function Hit({ h, words }) {
  const run = text(h.run_name) || h.run;
  return html`<span class="line"><span class="what"><strong><${Marked} text=${h.task || run} words=${words} /></strong>
      ${h.task && h.name && h.name !== h.task && html`<span><${Marked} text=${text(h.name)} words=${words} /></span>`}
      <span class="faint">${h.task ? html`task of <${Marked} text=${run} words=${words} />` : 'run'}</span></span>
      <span class="when"><${Status} of=${text(h.status)} /><span class="faint"><${Ago} time=${h.created} /></span></span></span>
    ${h.excerpt && html`<span class="excerpt"><span class="faint">${h.in}</span> <${Marked} text=${h.excerpt} words=${words} /></span>`}`;
}

/** A text with the found words marked. @param {{text: string, words: string}} props */
function Marked({ text: all, words }) {
  const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
  const lower = all.toLowerCase();
  if (lower.length !== all.length) return html`<bdi>${all}</bdi>`; // positions differ
  const out = [];
  for (let from = 0; from < all.length;) {
    let [next, size] = [all.length, 0];
    for (const w of parts) {
      const i = lower.indexOf(w, from);
      if (i >= 0 && (i < next || (i === next && w.length > size))) [next, size] = [i, w.length];
    }
    out.push(all.slice(from, next));
    if (size) out.push(html`<mark>${all.slice(next, next + size)}</mark>`);
    from = next + size || all.length;
  }
  return html`<bdi>${out}</bdi>`;
}
