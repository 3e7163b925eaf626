// Draws the edits of a tool as small diffs.
import { html } from '../core/view.js';
import { count } from '../core/words.js';
import { entries } from '../review/diff.js';
import { Line } from '../review/line.js';
import { useBoth } from './prose.js';

/** @param {{edit: any, colours: import('../review/highlight.js').Highlighter}} props */
export function Edit({ edit, colours }) {
  const list = entries({ status: edit.status, hunks: edit.hunks }, null).filter((e) => e.kind === 'line' || e.edge === '');
  const side = (op) => edit.hunks.flatMap((h) => h.lines.filter((l) => l.op !== op).map((l) => l.text));
  const runs = useBoth(colours, edit.path, [side('+').join('\n'), side('-').join('\n')]);
  // The syntax is that of the shown lines one after the other. The drawing looks it up by line number.
  const by = runs && numbered(list, runs);
  return html`<div class=${`edit ${edit.status}${edit.numbered ? '' : ' unnumbered'}`}>${list.map((e) => (e.kind === 'gap' ? html`<div class="gap" key=${e.key} aria-hidden="true">⋯</div>` : html`<${Line} key=${`${e.key}${e.op}`} line=${e} runs=${by} at=${false} marked="" />`))}</div>`;
}

function numbered(list, [before, after]) {
  const by = { old: [], new: [] };
  let [o, n] = [0, 0];
  for (const e of list) {
    if (e.kind !== 'line') continue;
    if (e.op !== '+') by.old[e.old - 1] = before?.[o++];
    if (e.op !== '-') by.new[e.new - 1] = after?.[n++];
  }
  return by;
}

/** The number of added and removed lines. */
export const Sums = ({ edit }) => html`<span class="sums">${edit.added > 0 && html`<span class="plus">+${count(edit.added)}</span>`} ${edit.removed > 0 && html`<span class="minus">−${count(edit.removed)}</span>`}</span>`;
