// The warning that no process works on a run.
import { path, send } from '../core/api.js';
import { self } from '../core/fleet.js';
import { html } from '../core/view.js';
import { final, text } from '../core/words.js';
import { attempt } from './dialog.js';
import { Status } from './status.js';

/** Only runs of the server's machine need a process. @param {{run: any}} props */
export function Unattended({ run }) {
  if (!run || final(run.status) || !run.owner?.gone) return null;
  const may = self.value.role !== 'viewer';
  const resume = () => attempt(`Resumed: ${text(run.name) || text(run.id)}`, () => send(path`/v1/runs/${run.id}/resume`));
  return html`<p class="stopping"><${Status} of="offline" word="no process" /> No gaffer works on this run: no task starts, and no answer reaches an agent. <button disabled=${!may} title=${may ? undefined : 'This browser may only look.'} onClick=${resume}>Resume</button> <span class="faint">or <code>gaffer resume ${text(run.id)}</code></span></p>`;
}
