// The replay of a run, from its first change to its last.
import { get, path } from '../core/api.js';
import { onChange } from '../core/fleet.js';
import { link, query, setQuery } from '../core/route.js';
import { at, clock, exact, span } from '../core/time.js';
import { count, many, text } from '../core/words.js';
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../core/view.js';
import { Empty, Progress, Status, Wrong } from '../parts/status.js';
import { Past } from '../run/fold.js';
import { Graph } from '../run/graph.js';
import { List, narrow } from '../run/list.js';
import { usePlayer } from '../run/player.js';
import { workerName } from '../run/row.js';
import { story } from '../run/describechange.js';
import { structureOf } from '../run/structure.js';
import { countsOf, states, unfinishedOf } from '../run/task.js';

const page = 2000; // changes per request

/** @param {{run: string}} props */
export function Page({ run }) {
  const past = useMemo(() => new Past(), []);
  const { state, more } = usePast(run, past);
  const newer = useNewer(run, state.done);
  if (state.error) return html`<${Wrong} message=${state.error}><p><button onClick=${more}>Try again</button> <a href=${link('runs', run)}>Back to the run</a></p><//>`;
  if (!state.done) return html`<div class="loading-changes" role="status"><p>Loading what happened…</p><p class="faint">${many(state.n, 'change')} so far</p><progress></progress></div>`;
  if (!past.moments) return html`<${Empty} title="Nothing of this run is left to be shown."><p><a href=${link('runs', run)}>Back to the run</a></p><//>`;
  return html`<${Replay} run=${run} past=${past} moments=${past.moments} newer=${newer.count} more=${() => { newer.seen(); more(); }} />`;
}

/** Loads all changes, page by page. */
function usePast(run, past) {
  const [state, set] = useState({ done: false, n: 0, error: '' });
  const abort = useMemo(() => new AbortController(), []);
  const more = async () => {
    set((s) => ({ ...s, error: '' }));
    try {
      for (let next = past.changes.at(-1)?.id ?? ''; next !== undefined;) {
        const answer = await get(`${path`/v1/runs/${run}/changes`}?limit=${page}${next && `&after=${encodeURIComponent(next)}`}`, abort.signal);
        past.add(answer.changes ?? []);
        next = answer.next;
        set((s) => ({ ...s, n: past.changes.length }));
      }
      set((s) => ({ ...s, done: true }));
    } catch (e) {
      if (e.name !== 'AbortError') set((s) => ({ ...s, error: e.message }));
    }
  };
  useEffect(() => { more(); return () => abort.abort(); }, []);
  return { state, more };
}

/** Counts the changes of the run since the replay was loaded. */
function useNewer(run, on) {
  const [n, set] = useState(0);
  useEffect(() => (on ? onChange(({ change }) => { if (change.run === run || change.id === run) set((m) => m + 1); }) : undefined), [on]);
  return { count: n, seen: () => set(0) };
}

function Replay({ run, past, moments, newer, more }) {
  const player = usePlayer(moments, Number(query('at')) || 1);
  useAddress(player);
  const then = past.at(player.at);
  const tasks = [...then.tasks.values()];
  const before = useRef(null);
  const structure = before.current = structureOf(tasks, before.current);
  const change = past.changeOf(player.at);
  const time = at(change?.time);
  const view = query('view') === 'graph' ? 'graph' : 'list';
  const counts = countsOf(tasks);
  const row = (id) => then.tasks.get(id);
  const all = { run, structure, shown: structure.order, row, then: time };
  return html`<div class="replay-page">
    <header class="run-head"><nav class="run-crumbs faint" aria-label="Where this is"><a href="#/runs">Runs</a> / <a href=${link('runs', run)}><code>${run}</code></a> / Replay</nav>
      <div class="title"><h1><bdi>${text(then.run?.name) || run}</bdi></h1><${Status} of=${text(then.run?.status) || 'running'} /><span class="faint">as it was</span></div></header>
    <${Player} player=${player} past=${past} change=${change} time=${time} counts=${counts} newer=${newer} more=${more} />
    <div class="replay-body"><section aria-label="Tasks at that time">
      <nav class="tabs" aria-label="Views">${['list', 'graph'].map((name) => html`<a key=${name} href=${hrefOf(run, name, player.at)} aria-current=${view === name ? 'page' : undefined}>${name === 'list' ? 'List' : 'Graph'}</a>`)}</nav>
      ${view === 'graph' ? html`<${Graph} ...${all} />` : html`<${List} ...${all} among=${{ row, unfinished: unfinishedOf(tasks), lanes: [] }} />`}
    </section><${Feed} past=${past} player=${player} /></div>
  </div>`;
}

const hrefOf = (run, view, moment) => `${link('runs', run, 'replay')}?at=${moment}${view === 'graph' ? '&view=graph' : ''}`;

// Puts the shown moment into the address, but not at every step, because browsers limit
// how often the address may change. It stops when the user leaves this page.
function useAddress(player) {
  useLayoutEffect(() => {
    if (player.playing) return undefined;
    const timer = setTimeout(() => { if (Number(query('at')) !== player.at) setQuery({ at: String(player.at) }); }, 300);
    return () => clearTimeout(timer);
  }, [player.at, player.playing]);
}

function Player({ player, past, change, time, counts, newer, more }) {
  const begin = at(past.changeOf(1)?.time);
  return html`<section class="player panel" aria-label="Player">
    <div class="controls">
      <button onClick=${player.first} aria-label="To the first" title="To the first (Home)">⇤</button>
      <button onClick=${player.back} aria-label="One back" title="One back (←)">←</button>
      <button class="primary" onClick=${player.toggle} aria-label=${player.playing ? 'Pause' : 'Play'} title="Space">${player.playing ? '❚❚ Pause' : '▶ Play'}</button>
      <button onClick=${player.next} aria-label="One on" title="One on (→)">→</button>
      <button onClick=${player.last} aria-label="To the last" title="To the last (End)">⇥</button>
      <input type="range" min="1" max=${past.moments} value=${player.at} onInput=${(e) => player.go(Number(e.currentTarget.value))} aria-label="Moment" aria-valuetext=${`change ${player.at} of ${past.moments}, ${clock(time)}`} />
      <select aria-label="Speed" value=${player.speed} onChange=${(e) => player.setSpeed(Number(e.currentTarget.value))}>${player.speeds.map((s) => html`<option key=${s} value=${s} selected=${s === player.speed}>${s} a second</option>`)}</select>
    </div>
    <${Happened} change=${change} first=${player.at === 1} tasks=${counts.total} />
    <div class="line faint"><span class="when" title=${exact(time)}>${clock(time)}, after ${span(time - begin)}</span><span>change ${count(player.at)} of ${count(past.moments)}</span></div>
    <${Progress} counts=${counts} />
    <div class="counters" aria-label="Tasks at that time">${states.filter((s) => counts[s] > 0).map((s) => html`<${Status} key=${s} of=${s} word=${`${count(counts[s])} ${s}`} />`)}</div>
    ${newer > 0 && html`<p class="stopping">The run goes on: <button onClick=${more}>Load ${many(newer, 'newer change')}</button></p>`}
  </section>`;
}

function Happened({ change, first, tasks }) {
  const s = first ? { state: 'queued', task: '', what: `the run was submitted with ${many(tasks, 'task')}`, who: '' } : story(change, workerName);
  return html`<div class="happened"><p><${Status} of=${s.state} /> ${s.task && html`<b><bdi>${s.task}</bdi></b> `}<bdi>${s.what}</bdi></p>${s.who && html`<p class="faint">by ${s.who}</p>`}</div>`;
}

/** The changes shortly before and after the shown moment. */
function Feed({ past, player }) {
  const around = narrow.value ? 2 : 7;
  const from = Math.max(1, Math.min(player.at - around, past.moments - 2 * around));
  const list = [];
  for (let m = from; m <= Math.min(past.moments, from + 2 * around); m++) list.push(m);
  return html`<section class="story panel" aria-label="What happened"><h2>What happened</h2><ol>${list.map((m) => {
    const change = past.changeOf(m);
    const s = story(change, workerName);
    const words = m === 1 ? 'submitted' : `${s.task ? `${s.task} ` : ''}${s.what}`;
    return html`<li key=${m}><button aria-current=${m === player.at ? 'step' : undefined} title=${words} onClick=${() => player.go(m)}><time>${clock(at(change?.time))}</time>${words}</button></li>`;
  })}</ol></section>`;
}
