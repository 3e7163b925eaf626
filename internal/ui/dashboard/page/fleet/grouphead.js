// The heading of a group of agents: a run with its progress, or a machine with its slots.
import { agents, runs } from '../core/fleet.js';
import { link } from '../core/route.js';
import { html } from '../core/view.js';
import { count, many, money, text } from '../core/words.js';
import { Lasting, Progress } from '../parts/status.js';
import { metaOf, number } from './agents.js';

/** @param {{group: any, folded: boolean, fold: () => void}} props */
export function GroupHead({ group, folded, fold }) {
  const waiting = group.rows.filter((a) => a.state === 'waiting').length;
  return html`<div class="group-head">
    <button class="quiet fold" aria-expanded=${!folded} onClick=${fold} aria-label=${`${folded ? 'Show' : 'Hide'} the agents of ${group.name}`}><span aria-hidden="true">${folded ? '▸' : '▾'}</span></button>
    <h3>${group.kind === 'run' ? html`<a href=${link('runs', group.key)}><bdi>${group.name}</bdi></a>` : html`<bdi>${group.name}</bdi>`}</h3>
    <span class="faint number">${many(group.rows.length, 'agent')}${waiting > 0 && html`, <b class="asks">${count(waiting)} waiting</b>`}</span>
    <span class="space"></span>
    ${group.kind === 'run' && html`<${RunFacts} id=${group.key} />`}
    ${group.kind === 'machine' && html`<${Slots} machine=${group.key} />`}
  </div>`;
}

function RunFacts({ id }) {
  const run = runs.get(id);
  if (!run) return null;
  return html`<span class="faint number wide"><${Lasting} from=${run.created} to=${run.ended} />${run.spent?.usd ? ` · ${money(run.spent.usd)}` : ''}</span>
    <span class="faint number">${count(run.counts?.complete ?? 0)}/${count(run.counts?.total ?? 0)}</span><${Progress} counts=${run.counts} />`;
}

function Slots({ machine }) {
  let [held, slots] = [0, 0];
  for (const a of agents.all()) {
    const meta = metaOf(a);
    if ((text(meta.host) || a.name) !== machine) continue;
    held += number(meta.held);
    slots += number(meta.slots);
  }
  return slots > 0 && html`<span class="faint number">${held} of ${many(slots, 'slot')} used</span>`;
}
