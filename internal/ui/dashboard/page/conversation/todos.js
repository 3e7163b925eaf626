// The agent's own list of what it has to do.
import { html } from '../core/view.js';
import { kind, sign } from '../core/words.js';

const statuses = { pending: 'queued', in_progress: 'running', completed: 'complete', cancelled: 'cancelled' };
const wide = '(min-width: 1100px)';

/** @param {{items: import('./events.js').Todo[], show: () => void}} props show: goes to the message with the list's last change */
export function Todos({ items, show }) {
  const done = items.filter((t) => t.status === 'completed').length;
  const now = items.find((t) => t.status === 'in_progress');
  const part = (n, k) => n > 0 && html`<span class=${`part k-${k}`} style=${{ flexGrow: n }}></span>`;
  const going = items.filter((t) => t.status === 'in_progress').length;
  const text = `${done} of ${items.length} done`;
  return html`<details class="todos panel" open=${matchMedia(wide).matches}>
    <summary><h2>To do</h2><span class="number">${text}</span>${now && html`<span class="now">${now.text}</span>`}<span class="progress" role="img" aria-label=${text}>${part(done, 'complete')}${part(going, 'running')}${part(items.length - done - going, 'queued')}</span></summary>
    <ol>${items.map((t, i) => html`<li key=${i} class=${`todo k-${kind(statuses[t.status])}`}><span class="sign" aria-hidden="true">${sign(statuses[t.status])}</span><span>${t.text}</span><span class="hidden">${t.status.replace('_', ' ')}</span></li>`)}</ol>
    <button class="quiet all" aria-label="Last change of the list" onClick=${show}>Last change</button>
  </details>`;
}
