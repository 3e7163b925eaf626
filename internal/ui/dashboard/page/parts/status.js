// Statuses, times and other small things, the same everywhere.
import { html } from '../core/view.js';
import { at, brief, exact, now, span, tick } from '../core/time.js';
import { kind, sign } from '../core/words.js';

/** A status: sign, word, colour. @param {{of: string, word?: string, title?: string}} props */
export const Status = ({ of, word, title }) =>
  html`<span class=${`status k-${kind(of)}`} title=${title}><span class="sign" aria-hidden="true">${sign(of)}</span>${word ?? of}</span>`;

/** How long ago something was, which goes on. @param {{time: string|undefined, suffix?: string}} props */
export function Ago({ time, suffix = ' ago' }) {
  const then = at(time);
  if (Number.isNaN(then)) return html`<span class="faint">never</span>`;
  tick.value;
  const age = now() - then;
  return html`<time datetime=${time} title=${exact(then)}>${age < 1000 ? 'now' : brief(age) + suffix}</time>`;
}

/** How long something takes or took. @param {{from: string|undefined, to?: string}} props */
export function Lasting({ from, to }) {
  const begin = at(from);
  if (Number.isNaN(begin)) return null;
  const end = at(to);
  if (Number.isNaN(end)) tick.value;
  return html`<time title=${`since ${exact(begin)}`}>${span((Number.isNaN(end) ? now() : end) - begin)}</time>`;
}

/** How long until something. @param {{time: string}} props */
export function Until({ time }) {
  tick.value;
  const left = at(time) - now();
  return html`<time datetime=${time} title=${exact(time)}>${left > 0 ? `in ${span(left)}` : 'now'}</time>`;
}

/** How far a run is: a bar with a word for those who do not see it. */
export function Progress({ counts }) {
  const { total = 0, complete = 0, failed = 0, running = 0, cancelled = 0 } = counts ?? {};
  const part = (n, k) => n > 0 && html`<span class=${`part k-${k}`} style=${{ flexGrow: n }}></span>`;
  const text = `${complete} of ${total} complete${running ? `, ${running} running` : ''}${failed ? `, ${failed} failed` : ''}${cancelled ? `, ${cancelled} cancelled` : ''}`;
  return html`<span class="progress" role="img" aria-label=${text} title=${text}>
    ${part(complete, 'complete')}${part(failed, 'failed')}${part(cancelled, 'cancelled')}${part(running, 'running')}${part(total - complete - failed - running - cancelled, 'queued')}
  </span>`;
}

/** Something that is not there. */
export const Empty = ({ title, children }) => html`<div class="empty"><p class="title">${title}</p>${children}</div>`;

/** Something that went wrong: what, why, what next. */
export const Wrong = ({ message, children }) => html`<div class="wrong" role="alert"><span class="sign" aria-hidden="true">✗</span><div>${message}${children}</div></div>`;
