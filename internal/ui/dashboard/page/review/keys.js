// The keys of the review page.
import { html, useEffect } from '../core/view.js';
import { confirm, quietly } from '../parts/dialog.js';
import { layout } from './pagestate.js';

const list = [
  ['j k', 'next, previous line'], ['J K', 'mark lines'], ['n p', 'next, previous hunk'], ['] [', 'next, previous file'], ['c', 'comment on the line, the marked lines or the file'],
  ['v', 'file viewed, to the next'], ['u', 'one column or two'], ['s', 'send the comments back'], ['a', 'approve'], ['m', 'merge'], ['Esc', 'close, then leave'], ['?', 'this help'],
];

function help() {
  confirm({ title: 'Keys of the review', text: html`<dl class="keys">${list.map(([k, what]) => html`<dt>${k.split(' ').map((one) => html`<kbd>${one}</kbd> `)}</dt><dd>${what}</dd>`)}</dl>`, action: 'Good' });
}

/** @param {import('./pagestate.js').Desk} desk @param {any} act decisions @param {boolean} may @param {() => void} leave */
export function useKeys(desk, act, may, leave) {
  useEffect(() => {
    let before = '';
    const keys = {
      j: () => desk.view?.line(1), k: () => desk.view?.line(-1), J: () => desk.view?.line(1, true), K: () => desk.view?.line(-1, true),
      n: () => desk.view?.hunk(1), p: () => desk.view?.hunk(-1), ']': () => desk.view?.file(1), '[': () => desk.view?.file(-1),
      c: () => desk.view?.comment(), v: () => quietly(async () => desk.view?.viewed()), u: () => { layout.value = layout.value === 'split' ? 'unified' : 'split'; },
      s: () => may && act.sendBack(), a: () => may && act.approve(), m: () => may && act.merge(), '?': help,
      Escape() {
        if (desk.form.value) desk.form.value = null;
        else if (desk.marked.value) desk.marked.value = null;
        else if (desk.cursor.value) desk.cursor.value = null;
        else leave();
      },
    };
    const press = (e) => {
      if (e.target.closest('textarea,select,dialog,input:not([type=checkbox])') || e.ctrlKey || e.metaKey || e.altKey || document.querySelector('dialog[open]')) return;
      const places = before === 'g'; // keys such as "g f" navigate to other pages
      before = e.key;
      if (places || !Object.hasOwn(keys, e.key)) return;
      e.preventDefault();
      e.stopImmediatePropagation(); // otherwise the dashboard's own keys would react too
      keys[e.key]();
    };
    addEventListener('keydown', press, true);
    return () => removeEventListener('keydown', press, true);
  }, [desk, act, may]);
}
