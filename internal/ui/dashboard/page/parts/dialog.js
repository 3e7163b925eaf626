// Confirmation dialogs, and actions that report their result.
import { html, signal, useLayoutEffect, useRef } from '../core/view.js';
import { toast } from './toast.js';

const asked = signal(null);

/**
 * Asks the user to confirm an action. The text must name the object of the action.
 * @param {{title: string, text?: any, action: string, danger?: boolean, input?: string, only?: boolean}} what only: there is nothing to decide, so there is one button
 * @returns {Promise<string|null>} null if the user cancels, else the typed text, or '' if there is no input
 */
export function confirm(what) {
  return new Promise((done) => { asked.value = { ...what, done }; });
}

function Dialog({ title, text, action, danger, input, only, done }) {
  const ref = useRef(null);
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog.showModal();
    const said = dialog.querySelector('.text');
    if (said.scrollHeight > said.clientHeight) said.tabIndex = 0; // so that the arrow keys scroll it
    return () => dialog.close(); // gives the focus back
  }, []);
  const end = (value) => { asked.value = null; done(value); };
  const submit = (e) => { e.preventDefault(); end(input === undefined ? '' : ref.current.querySelector('input').value); };
  return html`<dialog ref=${ref} aria-labelledby="dialog-title" onCancel=${() => end(null)}>
    <form method="dialog" onSubmit=${submit}>
      <h2 id="dialog-title">${title}</h2>
      <div class="text">${text}</div>
      ${input !== undefined && html`<label>${input}<input type="text" maxlength="1000" autofocus /></label>`}
      <div class="actions">
        ${!only && html`<button type="button" onClick=${() => end(null)} autofocus=${danger && input === undefined}>No</button>`}
        <button type="submit" class=${danger ? 'danger' : 'primary'} autofocus=${!danger && input === undefined}>${action}</button>
      </div>
    </form>
  </dialog>`;
}

/** Shows a message for a few seconds. @param {string} text @param {'good'|'bad'} [mood] */
export const say = (text, mood) => toast(text, { mood });

/** Performs an action, and shows the text done or the error. @param {string} done @param {() => Promise<any>} action */
export async function attempt(done, action) {
  try {
    await action();
    say(done);
    return true;
  } catch (e) {
    say(e.message, 'bad');
    return false;
  }
}

/** Performs an action whose result is visible anyway, and shows only an error. Resolves to whether it succeeded. @param {() => Promise<any>} action */
export const quietly = (action) => action().then(() => true, (e) => { say(e.message, 'bad'); return false; });

/** The container of the dialog. The page has one. */
export const Dialogs = () => asked.value && html`<${Dialog} ...${asked.value} />`;
