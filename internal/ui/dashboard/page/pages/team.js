// The page of a team: the state of each group, the messages between roles, the decisions.
import { html } from '../core/view.js';
import { query, setQuery } from '../core/route.js';
import { count, own } from '../core/words.js';
import { list, Odd, ProjectHead, useDocuments, Whose } from '../parts/project.js';
import { Ago, Empty, Lasting, Status } from '../parts/status.js';

export function Page({ project }) {
  const documents = useDocuments(project);
  const t = documents.team.value;
  return html`<${ProjectHead} documents=${documents} here="team">${t?.found && html`<${Whose} ours=${t.ours} run=${t.run} /> <${Status} of=${statusOf(t.session)} word=${t.session?.status || t.session?.phase || 'unknown'} />`}<//>
    ${t === null ? html`<p class="starting">Reading the documents…</p>`
    : !t.found ? html`<${Empty} title="There is no team in this project."><p><code>gaffer team run</code> begins one.</p><//>`
      : html`<${Facts} s=${t.session ?? {}} /><${Counters} all=${list(t.counters)} /><${Board} groups=${list(t.groups)} /><${Phases} phases=${list(t.phases)} /><${Talk} t=${t} />`}
    <${Odd} list=${t?.problems} />`;
}

const statusOf = (s) => (own({ completed: 'complete', running: 'running', failed: 'failed' }, s?.status) ?? (s?.ended ? 'complete' : 'running'));

const Facts = ({ s }) => html`<section class="team-facts" aria-label="Session"><dl>
  <div><dt>Session</dt><dd><code>${s.id}</code></dd></div><div><dt>Mode</dt><dd>${s.mode || 'not planned yet'}</dd></div><div><dt>Phase</dt><dd>${s.phase}</dd></div>
  <div><dt>Spawns</dt><dd>${count(s.spawns ?? 0)}</dd></div><div><dt>Complete</dt><dd>${s.percent ?? 0} %</dd></div><div><dt>Takes</dt><dd><${Lasting} from=${s.started} to=${s.ended} /></dd></div></dl>
  ${s.requirements && html`<p class="wish">${s.requirements}</p>`}</section>`;

// Shows the roles that were started nearly as often as their limit allows.
function Counters({ all }) {
  const near = all.filter((c) => c.limit > 0 && c.count >= c.limit - 1);
  if (!near.length) return null;
  return html`<section class="alerts" aria-label="Counters near their limit">${near.map((c) => html`<p key=${`${c.group} ${c.role}`} class=${c.count > c.limit ? 'critical' : ''}>
    <span class="sign" aria-hidden="true">!</span> <b>${c.group}</b>: ${c.role} was started ${c.count} times of ${c.limit}${c.to ? `; past that the ${c.to} looks at it` : ''}</p>`)}</section>`;
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

const Phases = ({ phases }) => phases.length > 0 && html`<section aria-label="Phases"><header class="section"><h2>Phases</h2></header><ol class="phases">${phases.map((p) => html`<li key=${p.number}><b>${p.number}</b> <${Status} of=${p.status || 'queued'} /> ${list(p.groups).join(', ')}</li>`)}</ol></section>`;

function Talk({ t }) {
  const tab = query('talk', 'messages');
  const messages = list(t.messages);
  const decisions = list(t.decisions);
  const to = (name, word, n) => html`<button class="counter" aria-pressed=${tab === name} onClick=${() => setQuery({ talk: name })}><b>${n}</b> ${word}</button>`;
  return html`<section aria-label="Messages and decisions"><header class="section"><h2>Talk</h2><div class="counters">${to('messages', 'messages', messages.length)}${to('decisions', 'decisions', decisions.length)}</div></header>
    ${tab === 'decisions' ? html`<ol class="talk">${decisions.slice(-200).reverse().map((d, i) => html`<li key=${i}><header><b>${d.who}</b> ${d.group && html`<span class="faint">${d.group}</span>`} ${d.at && html`<span class="faint"><${Ago} time=${d.at} /></span>`}</header><p>${d.what}</p>${d.why && html`<p class="why">${d.why}</p>`}</li>`)}</ol>`
    : html`<ol class="talk">${messages.slice(-200).reverse().map((m, i) => html`<li key=${m.id || i}><header><b>${m.from}</b> <span aria-label="to">→</span> <b>${m.to}</b> <span class="faint">${m.type} ${m.group}</span> ${m.at && html`<span class="faint"><${Ago} time=${m.at} /></span>`} ${!m.read && html`<span class="status k-waiting"><span class="sign" aria-hidden="true">●</span>unread</span>`}</header>
      <p>${m.text}</p>${list(m.body).map((line, j) => html`<p key=${j} class="why">${line}</p>`)}</li>`)}</ol>`}</section>`;
}
