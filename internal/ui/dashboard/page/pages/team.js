// The page of a team. While it works: the state of each group, and what the roles said.
// After its end: what was built, by whom, and how it ended.
import { html } from '../core/view.js';
import { runs } from '../core/fleet.js';
import { link, query, setQuery } from '../core/route.js';
import { useTitle } from '../core/title.js';
import { count, many, money, own } from '../core/words.js';
import { base, list, Odd, ProjectHead, useDocuments, Whose } from '../parts/project.js';
import { Ago, Empty, Lasting, Progress, Status } from '../parts/status.js';

export function Page({ project }) {
  useTitle(`Team · ${base(project)}`);
  const documents = useDocuments(project);
  const t = documents.team.value;
  return html`<${ProjectHead} documents=${documents} here="team">${t?.found && html`<${Whose} ours=${t.ours} run=${t.run} /> <${Status} of=${statusOf(t.session)} word=${t.session?.status || t.session?.phase || 'unknown'} />`}<//>
    ${t === null ? html`<p class="starting">Reading the documents…</p>`
    : !t.found ? html`<${Empty} title="There is no team in this project."><p><code>gaffer team REQUIREMENTS</code> begins one: a project manager, developers, QA and a tech lead.</p><//>`
      : isOver(t.session) ? html`<${Ended} t=${t} />` : html`<${Working} t=${t} />`}
    <${Odd} list=${t?.problems} />`;
}

const isOver = (s) => Boolean(s?.ended) || s?.status === 'completed' || s?.status === 'error';
const statusOf = (s) => (own({ completed: 'complete', running: 'running', failed: 'failed', error: 'failed' }, s?.status) ?? (s?.ended ? 'complete' : 'running'));

function Working({ t }) {
  return html`<${Counters} all=${list(t.counters)} /><${Facts} s=${t.session ?? {}} /><${Board} groups=${list(t.groups)} /><${Phases} phases=${list(t.phases)} /><${Talk} t=${t} />`;
}

const isDone = (g) => g.stage === 'complete';

/** The outcome: one sentence, then each group with those that are not complete first. */
function Ended({ t }) {
  const s = t.session ?? {};
  const groups = list(t.groups);
  const done = groups.filter(isDone).length;
  const spent = t.run && runs.get(t.run)?.spent?.usd;
  const state = statusOf(s) === 'failed' ? 'failed' : done === groups.length ? 'complete' : 'failed';
  const said = state === 'complete' ? `All ${many(groups.length, 'group')} ${groups.length === 1 ? 'is' : 'are'} complete.` : `${done} of ${many(groups.length, 'group')} ${done === 1 ? 'is' : 'are'} complete.`;
  return html`<section class="team-outcome" aria-label="Outcome"><header class="section"><h2>${groups.length ? said : 'The team has ended without a group.'}</h2></header>
      <${Progress} counts=${{ total: groups.length, complete: done, failed: groups.length - done }} />
      <dl class="figures"><div><dt>Took</dt><dd><${Lasting} from=${s.started} to=${s.ended || s.updated} /></dd></div>${s.ended && html`<div><dt>Ended</dt><dd><${Ago} time=${s.ended} /></dd></div>`}<div><dt>Roles started</dt><dd>${count(s.spawns ?? 0)} times</dd></div>
        ${spent > 0 && html`<div><dt>Cost</dt><dd>${money(spent)}</dd></div>`}${t.run && html`<div><dt>Run</dt><dd><a href=${link('runs', t.run)}>${t.run}</a></dd></div>`}</dl>
      ${s.requirements && html`<details class="wanted"><summary>What was wanted</summary><p class="wish">${s.requirements}</p></details>`}</section>
    ${groups.length > 0 && html`<section aria-label="Groups"><header class="section"><h2>What was built</h2></header>
      <div class="scroll"><table class="built"><thead><tr><th>Group</th><th>Outcome</th><th>By</th><th>Took</th><th>Change</th></tr></thead>
        <tbody>${[...groups].sort((a, b) => isDone(a) - isDone(b)).map((g) => html`<${Built} key=${g.id} g=${g} />`)}</tbody></table></div></section>`}
    <${Folded} title="Messages" n=${list(t.messages).length}><${Messages} all=${list(t.messages)} /><//>
    <${Folded} title="Decisions" n=${list(t.decisions).length}><${Decisions} all=${list(t.decisions)} /><//>
    <${Folded} title="Phases" n=${list(t.phases).length}><${PhaseList} phases=${list(t.phases)} /><//>`;
}

const Folded = ({ title, n, children }) => n > 0 && html`<details class="fold-section"><summary>${title} <span class="faint">${count(n)}</span></summary>${children}</details>`;

function Built({ g }) {
  const a = g.attempts ?? {};
  const by = [['developer', a.developer], ['QA', a.qa], ['tech lead', a.tech_lead]].filter(([, n]) => n > 0);
  const open = list(g.blockers).filter((b) => !b.resolved);
  const more = open.length > 0 || g.note;
  return html`<tr class=${more ? 'has-more' : ''}><th scope="row">${g.name || g.id}${g.name && g.name !== g.id && html` <span class="faint">${g.id}</span>`}</th>
      <td data-label="Outcome"><${Status} of=${isDone(g) ? 'complete' : 'failed'} word=${g.status || 'pending'} /></td>
      <td data-label="By">${g.agent && html`${g.agent}, `}${by.map(([role, n]) => `${role} ${n > 1 ? `${n} times` : 'once'}`).join(', ') || html`<span class="faint">nobody</span>`}</td>
      <td data-label="Took"><${Lasting} from=${g.started} to=${g.ended} /></td>
      <td data-label="Change">${g.branch ? html`<code>${g.branch}</code> ` : html`<span class="faint">–</span>`}${g.files > 0 && html`<span class="faint">${many(g.files, 'file')}${g.commits > 0 ? `, ${many(g.commits, 'commit')}` : ''}</span>`}</td></tr>
    ${more && html`<tr class="more"><td colspan="5">${open.map((b, i) => html`<p key=${i} class="bad">${b.description}</p>`)}${g.note && html`<p class="note"><span class="faint">Tech lead:</span> ${g.note}</p>`}</td></tr>`}`;
}

const Facts = ({ s }) => html`<section class="team-facts" aria-label="Session"><dl>
  <div><dt>Session</dt><dd><code>${s.id}</code></dd></div><div><dt>Mode</dt><dd>${s.mode || 'not planned yet'}</dd></div><div><dt>Phase</dt><dd>${s.phase}</dd></div>
  <div><dt>Spawns</dt><dd>${count(s.spawns ?? 0)}</dd></div><div><dt>Complete</dt><dd>${s.percent ?? 0} %</dd></div><div><dt>Takes</dt><dd><${Lasting} from=${s.started} to=${s.ended} /></dd></div></dl>
  ${s.requirements && html`<p class="wish" tabindex="0">${s.requirements}</p>`}</section>`;

// Shows the roles that were started nearly as often as their limit allows.
function Counters({ all }) {
  const near = all.filter((c) => c.limit > 0 && c.count >= c.limit - 1);
  if (!near.length) return null;
  return html`<section class="alerts" aria-label="Counters near their limit">${near.map((c) => html`<p key=${`${c.group} ${c.role}`} class=${c.count > c.limit ? 'critical' : ''}>
    <span class="sign" aria-hidden="true">!</span> <span><b>${c.group}</b>: ${c.role} was started ${c.count} times of ${c.limit}${c.to ? `; past that the ${c.to} looks at it` : ''}</span></p>`)}</section>`;
}

const columns = [['pending', 'Pending', 'queued'], ['developer_working', 'Developer', 'running'], ['qa_testing', 'QA', 'running'], ['tech_review', 'Tech lead', 'running'], ['complete', 'Complete', 'complete'], ['other', 'Other', 'other']];

function Board({ groups }) {
  return html`<section aria-label="Board"><h2 class="hidden">Board</h2><div class="board">${columns.map(([stage, title, k]) => {
    const here = groups.filter((g) => (g.stage || 'other') === stage);
    if (stage === 'other' && !here.length) return null;
    return html`<div class="column" role="group" aria-label=${title} key=${stage}><h3>${title} <span class="faint">${here.length}</span></h3>${here.map((g) => html`<${Group} key=${g.id} g=${g} k=${k} />`)}</div>`;
  })}</div></section>`;
}

function Group({ g, k }) {
  const stuck = list(g.blockers).filter((b) => !b.resolved);
  const a = g.attempts ?? {};
  return html`<article class=${`group k-${k}`}><h4>${g.name || g.id}</h4>
    <p><${Status} of=${/blocked|failed|requested/.test(g.status) ? 'waiting' : k} word=${g.status} /></p>
    <p class="faint">${[a.developer && `developer ${a.developer}`, a.qa && `QA ${a.qa}`, a.tech_lead && `tech lead ${a.tech_lead}`].filter(Boolean).join(' · ')}</p>
    ${stuck.map((b, i) => html`<p key=${i} class="bad">${b.description}</p>`)}
    ${g.note && html`<p class="note">${g.note}</p>`}
    ${list(g.depends_on).length > 0 && html`<p class="faint">after ${g.depends_on.join(', ')}</p>`}
    ${g.branch && html`<p class="faint"><code>${g.branch}</code></p>`}</article>`;
}

const PhaseList = ({ phases }) => html`<ol class="phases">${phases.map((p) => html`<li key=${p.number}><b>${p.number}</b> <${Status} of=${p.status || 'queued'} /> ${list(p.groups).join(', ')}</li>`)}</ol>`;

const Phases = ({ phases }) => phases.length > 0 && html`<section aria-label="Phases"><header class="section"><h2>Phases</h2></header><${PhaseList} phases=${phases} /></section>`;

function Talk({ t }) {
  const tab = query('talk', 'messages');
  const messages = list(t.messages);
  const decisions = list(t.decisions);
  const to = (name, word, n) => html`<button class="counter" aria-pressed=${tab === name} onClick=${() => setQuery({ talk: name })}><b>${n}</b> ${word}</button>`;
  return html`<section aria-label="Messages and decisions"><header class="section"><h2>Talk</h2><div class="counters">${to('messages', 'messages', messages.length)}${to('decisions', 'decisions', decisions.length)}</div></header>
    ${tab === 'decisions' ? html`<${Decisions} all=${decisions} />` : html`<${Messages} all=${messages} />`}</section>`;
}

const most = 200; // entries that are shown

const Decisions = ({ all }) => (all.length ? html`<ol class="talk">${all.slice(-most).reverse().map((d, i) => html`<li key=${i}><header><b>${d.who}</b> ${d.group && html`<span class="faint">${d.group}</span>`} ${d.at && html`<span class="faint"><${Ago} time=${d.at} /></span>`}</header><p>${d.what}</p>${d.why && html`<p class="why">${d.why}</p>`}</li>`)}</ol>` : html`<p class="faint">None yet.</p>`);

const Messages = ({ all }) => (all.length ? html`<ol class="talk">${all.slice(-most).reverse().map((m, i) => html`<li key=${m.id || i}><header><b>${m.from}</b> <span aria-hidden="true">→</span><span class="hidden">to</span> <b>${m.to}</b> <span class="faint">${m.type} ${m.group}</span> ${m.at && html`<span class="faint"><${Ago} time=${m.at} /></span>`} ${!m.read && html`<span class="status k-waiting"><span class="sign" aria-hidden="true">●</span>unread</span>`}</header>
  <p>${m.text}</p>${list(m.body).map((line, j) => html`<p key=${j} class="why">${line}</p>`)}</li>`)}</ol>` : html`<p class="faint">None yet.</p>`);
