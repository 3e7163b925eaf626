// One agent, as a row of the list or as a card.
import { self } from '../core/fleet.js';
import { link } from '../core/route.js';
import { html, memo } from '../core/view.js';
import { count, money } from '../core/words.js';
import { Ago, Lasting, Status } from '../parts/status.js';
import { line } from '../run/task.js';
import { questionText, wordOf } from './agents.js';

/** The headings of the rows. */
export const Columns = () => html`<div class="agent-row heads" aria-hidden="true"><span>State</span><span>Agent</span><span>Now</span><span class="a-run">Run, branch</span><span class="a-where">Time, machine</span><span class="a-spent">Cost, context</span></div>`;

export const AgentRow = memo(({ row, answering, answer, inGroup }) => html`<div class=${`agent-row k-${row.state}`}>
  <span class="a-state"><${State} row=${row} /></span>
  <span class="a-agent"><${Name} row=${row} /><${Program} row=${row} /></span>
  <span class="a-now"><${Now} row=${row} answering=${answering} answer=${answer} /></span>
  <span class="a-run"><${Run} row=${row} inGroup=${inGroup} /></span>
  <span class="a-where"><b><${Lasting} from=${row.started} /></b><small class="faint" title=${row.machine}><bdi>${hostOf(row.machine)}</bdi></small></span>
  <span class="a-spent"><b><${Cost} row=${row} /></b><${Context} row=${row} /></span>
</div>`);

export const AgentCard = memo(({ row, answering, answer, inGroup }) => html`<div class=${`agent-card k-${row.state}`}>
  <span class="top-line"><${Name} row=${row} /><${State} row=${row} /></span>
  <${Program} row=${row} />
  <span class="a-now"><${Now} row=${row} answering=${answering} answer=${answer} /></span>
  <span class="a-run"><${Run} row=${row} inGroup=${inGroup} /></span>
  <span class="foot faint"><span><${Lasting} from=${row.started} /></span><span><${Cost} row=${row} /></span><span class="where" title=${row.machine}><bdi>${hostOf(row.machine)}</bdi></span><${Context} row=${row} /></span>
</div>`);

// The name of a machine without its domain.
const hostOf = (machine) => (/^[\d.:]+$/.test(machine) ? machine : machine.split('.')[0] || machine);

const State = ({ row }) => html`<${Status} of=${row.state} word=${wordOf(row.state)} title=${row.source && `source: ${row.source}`} />`;

const Name = ({ row }) => (row.href
  ? html`<a class="name" href=${row.href} tabindex="-1" title=${row.task}><bdi>${row.name}</bdi></a>`
  : html`<strong class="name"><bdi>${row.name}</bdi></strong>`);

function Program({ row }) {
  const parts = [row.program, row.model, row.account && `account ${row.account}`, row.stands && `in place of ${row.stands}`, row.kind === 'hand' && 'by hand', row.kind === 'protocol' && 'of a channel', row.number > 1 && `attempt ${row.number}`];
  return html`<small class="faint program"><bdi>${parts.filter(Boolean).join(' · ')}</bdi></small>`;
}

// What the agent does, in its own words, or its question.
function Now({ row, answering, answer }) {
  if (row.question) {
    const may = self.value.role !== 'viewer';
    return html`<span class="said asks" title=${questionText(row.question)}><bdi>${line(questionText(row.question)) || 'asks something'}</bdi></span>
      <small class="faint">asked <${Ago} time=${row.question.asked ?? row.question.created_at} />${may && html` <button class="small" aria-expanded=${answering} onClick=${() => answer(row)} tabindex="-1" aria-label=${`${answering ? 'Close the answer to' : 'Answer'} ${row.name}`}>${answering ? 'Close' : 'Answer…'}</button>`}</small>`;
  }
  return html`<span class="said" title=${row.doing}><bdi>${row.doing || silent(row)}</bdi></span><small class="faint">${row.kind === 'protocol' && row.task ? html`<bdi>${row.task}</bdi> · ` : ''}${row.said && html`<${Ago} time=${row.said} />`}</small>`;
}

const silent = (row) => ({ idle: 'waits for a prompt', waiting: 'waits for the user', offline: 'no process reports what it does' }[row.state] ?? (row.kind === 'attempt' ? 'has started' : 'works'));

function Run({ row, inGroup }) {
  if (row.kind !== 'attempt') return row.dir ? html`<span class="folder" title=${row.dir}><bdi>${row.dir.split('/').filter(Boolean).pop()}</bdi></span><small class="faint">folder</small>` : null;
  return html`${inGroup !== 'run' && html`<a href=${link('runs', row.run)} tabindex="-1" title=${row.run}><bdi>${row.runName}</bdi></a>`}${row.branch && html`<small class="faint branch" title=${row.branch}><span aria-hidden="true">⎇ </span><bdi>${row.branch}</bdi></small>`}`;
}

const Cost = ({ row }) => (row.usd ? money(row.usd) : row.tokens ? html`${count(row.tokens)} <span class="unit">tokens</span>` : '');

// How much of the agent's context is used, as a bar where the size of the context is known.
function Context({ row }) {
  if (row.used !== undefined) {
    const level = row.used >= 90 ? 'full' : row.used >= 70 ? 'high' : '';
    return html`<span class=${`context ${level}`} role="img" aria-label=${`context ${row.used} % used`} title=${`${row.used} % of the context is used`}><span class="bar"><span style=${{ width: `${row.used}%` }}></span></span><small>${row.used} %</small></span>`;
  }
  return row.contextTokens > 0 ? html`<small class="faint context" title="The size of the agent's context is not known">context ${count(row.contextTokens)}</small>` : null;
}
