// The review of a task's change: read it, comment on it, decide.
import { useCommands } from '../core/commands.js';
import { useKeys } from '../core/keys.js';
import { go, link, query, setQuery } from '../core/route.js';
import { html, useEffect, useMemo, useSignal, useState } from '../core/view.js';
import { many } from '../core/words.js';
import { Empty, Wrong } from '../parts/status.js';
import { Unattended } from '../parts/unattended.js';
import { About, may as mayAct } from '../review/sidepanel.js';
import { Actions, Result, ReviewState, decisions } from '../review/actions.js';
import { Comment, Form } from '../review/comment.js';
import { Desk, layout } from '../review/pagestate.js';
import { Counts } from '../review/file.js';
import { useReviewKeys } from '../review/keys.js';
import { useReview } from '../review/source.js';
import { Tree } from '../review/tree.js';
import { DiffView, commentsByPath } from '../review/view.js';
import { useTask } from '../task/source.js';

/** @param {{run: string, task: string}} props */
export function Page({ run, task: id }) {
  const about = useTask(run, id);
  const task = about.detail.tasks.get(id);
  const problem = about.detail.error.value || about.error.value;
  if (!task && about.detail.run.value) return html`<${Empty} title=${`The run has no task ${id}.`}><a href=${link('runs', run)}>To the run</a><//>`;
  if (!task) return problem ? html`<${Wrong} message=${problem}><p><a href="#/runs">To the runs</a></p><//>` : html`<p class="starting">Loading…</p>`;
  return html`<${Review} key=${query('scope')} about=${about} task=${task} scope=${query('scope')} />`;
}

function Review({ about, task, scope }) {
  const source = useReview(task.run, task.id, scope);
  const desk = useMemo(() => new Desk(`${task.run}/${task.id}`), []);
  const result = useSignal(null);
  const may = mayAct();
  const act = useMemo(() => decisions(source, task, result), [source, task]);
  const back = link('runs', task.run, 'tasks', task.id);
  useReviewKeys(desk, act, may, () => go(back));
  const wide = useWide(1560);
  const state = source.state.value;
  const change = source.change.value;
  const comments = commentsByPath(source);
  const run = about.detail.run.value;
  return html`<div class=${`review-page${wide ? ' wide' : ''}`}>
    <nav class="crumbs" aria-label="Where this is"><a href="#/runs">Runs</a> <span aria-hidden="true">/</span> <a href=${link('runs', task.run)}>${run?.name || task.run}</a> <span aria-hidden="true">/</span> <a href=${back}>${task.name || task.id}</a></nav>
    <header class="reviewbar"><h1>Review <bdi>${task.name || task.id}</bdi></h1>
      ${source.review.value && html`<${ReviewState} state=${source.review.value.state} />`}
      ${change && html`<span class="faint">${many(change.files?.length ?? 0, 'file')} <${Counts} added=${change.added} removed=${change.removed} /></span>`}
      <span class="space"></span>
      ${change && html`<${Scope} source=${source} about=${about} scope=${scope} /><${Layout} />`}
      ${source.review.value && html`<${Actions} source=${source} task=${task} may=${may} act=${act} result=${result} />`}</header>
    <${Unattended} run=${run} />
    <${Result} source=${source} result=${result} gone=${Boolean(run?.owner?.gone)} />
    ${source.newer.value && html`<${Newer} source=${source} />`}
    <${Body} state=${state} source=${source} desk=${desk} about=${about} task=${task} may=${may} wide=${wide} comments=${comments} />
  </div>`;
}

// Newer says that the agent has changed more than the page shows.
function Newer({ source }) {
  const show = () => source.show(source.newer.value);
  useKeys({ r: [show, 'show the newest change'] });
  useCommands(() => [{ id: 'review newest', title: 'Show the newest change', keys: 'r', run: show }]);
  return html`<p class="outcome newer" role="status">The agent has changed more since this was loaded. <button class="primary" title="Key: r" onClick=${show}>Show the newest</button></p>`;
}

function Body({ state, source, desk, about, task, may, wide, comments }) {
  const [tab, setTab] = useState('files');
  const info = html`<${About} source=${source} desk=${desk} about=${about} task=${task} />`;
  if (state === 'loading') return html`<p class="starting" role="status">Loading the change…</p>`;
  if (state === 'slow') return html`<p class="starting slow" role="status">Still loading the change. It is large, or the machine is busy.</p>`;
  if (state === 'none') return html`<${Empty} title="There is no change to review."><p>${source.error.value}</p><//><div class="lone">${info}</div>`;
  if (state === 'failed') return html`<${Wrong} message=${`The change could not be loaded: ${source.error.value}`}><p><button onClick=${() => source.load()}>Try again</button></p><//><div class="lone">${info}</div>`;
  const files = source.files.value;
  const beside = wide || tab === 'about';
  return html`<div class="columns">
    <aside class="left" aria-label="Files and task">
      ${!wide && html`<nav class="tabs small"><button aria-pressed=${tab === 'files'} onClick=${() => setTab('files')}>Files <span class="faint">${files.length}</span></button><button aria-pressed=${tab === 'about'} onClick=${() => setTab('about')}>Task and checks</button></nav>`}
      ${(wide || tab === 'files') && html`<${Tree} source=${source} desk=${desk} comments=${comments} />`}
      ${!wide && beside && info}
    </aside>
    <div class="middle">
      <${Whole} source=${source} desk=${desk} may=${may} list=${comments.get('') ?? []} />
      ${files.length ? html`<${DiffView} source=${source} desk=${desk} may=${may} />` : html`<${Empty} title=${source.from ? 'Nothing has changed since your last review.' : 'The task has changed no file.'} />`}
    </div>
    ${wide && html`<aside class="right" aria-label="Task">${info}</aside>`}
  </div>`;
}

// Whole shows the comments that belong to no file.
function Whole({ source, desk, may, list }) {
  const form = desk.form.value?.path === '' ? desk.form.value : null;
  const open = () => { desk.form.value = { path: '', side: 'new', first: 0, last: 0, tree: source.change.value.tree, lines: '' }; };
  return html`<div class="whole">${list.map(({ comment, anchor }) => html`<${Comment} key=${comment.id} source=${source} comment=${comment} anchor=${anchor} may=${may} />`)}
    ${form ? html`<${Form} desk=${desk} source=${source} place=${form} />` : may && html`<button class="quiet" onClick=${open}>Comment on the whole change</button>`}</div>`;
}

function Scope({ source, about, scope }) {
  const { seen } = source.review.value ?? {};
  const attempts = about.attempts.all().filter((a) => a.ended).map((a) => a.number).sort((a, b) => a - b);
  return html`<select aria-label="What is compared" value=${scope} onChange=${(e) => setQuery({ scope: e.currentTarget.value })}>
    <option value="">All changes</option>
    <option value="since" disabled=${!seen && scope !== 'since'}>Since my last review</option>
    ${attempts.length > 1 && attempts.map((n) => html`<option key=${n} value=${`attempt-${n}`}>After attempt ${n}</option>`)}</select>`;
}

const Layout = () => html`<button class="layout" onClick=${() => { layout.value = layout.value === 'split' ? 'unified' : 'split'; }} aria-pressed=${layout.value === 'split'} title="Key: u">Side by side</button>`;

function useWide(least) {
  const [wide, setWide] = useState(innerWidth >= least);
  useEffect(() => {
    const look = () => setWide(innerWidth >= least);
    addEventListener('resize', look);
    return () => removeEventListener('resize', look);
  }, [least]);
  return wide;
}
