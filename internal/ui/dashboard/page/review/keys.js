// The keys and commands of the review page.
import { useCommands } from '../core/commands.js';
import { useKeys } from '../core/keys.js';
import { quietly } from '../parts/dialog.js';
import { layout } from './pagestate.js';

/** @param {import('./pagestate.js').Desk} desk @param {any} act decisions @param {boolean} may @param {() => void} leave */
export function useReviewKeys(desk, act, may, leave) {
  const turn = () => { layout.value = layout.value === 'split' ? 'unified' : 'split'; };
  useKeys({
    j: [() => desk.view?.line(1), 'next line'], k: [() => desk.view?.line(-1), 'previous line'],
    J: [() => desk.view?.line(1, true), 'mark the next line'], K: [() => desk.view?.line(-1, true), 'mark the previous line'],
    n: [() => desk.view?.hunk(1), 'next hunk'], p: [() => desk.view?.hunk(-1), 'previous hunk'],
    ']': [() => desk.view?.file(1), 'next file'], '[': [() => desk.view?.file(-1), 'previous file'],
    u: [turn, 'one column or two'],
    ...(may && {
      c: [() => desk.view?.comment(), 'comment on the line, the marked lines or the file'],
      v: [() => quietly(async () => desk.view?.viewed()), 'file viewed, to the next'],
      s: [act.sendBack, 'send the comments back'], a: [act.approve, 'approve'], m: [act.merge, 'merge'],
    }),
    Escape() {
      if (desk.form.value) desk.form.value = null;
      else if (desk.marked.value) desk.marked.value = null;
      else if (desk.cursor.value) desk.cursor.value = null;
      else leave();
    },
  });
  useCommands(() => [
    ...(may ? [
      { id: 'review send back', title: 'Send the comments back', keys: 's', run: act.sendBack },
      { id: 'review approve', title: 'Approve the change', keys: 'a', run: act.approve },
      { id: 'review merge', title: 'Merge the change', keys: 'm', run: act.merge },
    ] : []),
    { id: 'review layout', title: 'One column or two', keys: 'u', run: turn },
  ]);
}
