// Small components for statuses, times and messages, used by all pages.
import { html } from '../core/view.js';
import { at, brief, exact, now, span, tick } from '../core/time.js';
import { kind, sign } from '../core/words.js';

/** A status: sign, word, colour. @param {{of: string, word?: string, title?: string}} props */
export const Status = ({ of, word, title }) =>
  html`<span class=${`status k-${kind(of)}`} title=${title}><span class="sign" aria-hidden="true">${sign(of)}</span>${word ?? of}</span>`;

/** The age of a time, updated every second. @param {{time: string|undefined, suffix?: string}} props */
export function Ago({ time, suffix = ' ago' }) {
  const then = at(time);
  if (Number.isNaN(then)) return html`<span class="faint">never</span>`;
  tick.value;
  const age = now() - then;
  return html`<time datetime=${time} title=${exact(then)}>${age < 1000 ? 'now' : brief(age) + suffix}</time>`;
}

/** The duration between two times, or until now. @param {{from: string|undefined, to?: string}} props */
export function Lasting({ from, to }) {
  const begin = at(from);
  if (Number.isNaN(begin)) return null;
  const end = at(to);
  if (Number.isNaN(end)) tick.value;
  return html`<time title=${`since ${exact(begin)}`}>${span((Number.isNaN(end) ? now() : end) - begin)}</time>`;
}

/** The time that is left until a time. @param {{time: string}} props */
export function Until({ time }) {
  tick.value;
  const left = at(time) - now();
  return html`<time datetime=${time} title=${exact(time)}>${left > 0 ? `in ${span(left)}` : 'now'}</time>`;
}

/** The progress of a run as a bar, with a text for screen readers. */
export function Progress({ counts }) {
  const { total = 0, complete = 0, failed = 0, running = 0, cancelled = 0 } = counts ?? {};
  const part = (n, k) => n > 0 && html`<span class=${`part k-${k}`} style=${{ flexGrow: n }}></span>`;
  const text = `${complete} of ${total} complete${running ? `, ${running} running` : ''}${failed ? `, ${failed} failed` : ''}${cancelled ? `, ${cancelled} cancelled` : ''}`;
  return html`<span class="progress" role="img" aria-label=${text} title=${text}>
    ${part(complete, 'complete')}${part(failed, 'failed')}${part(cancelled, 'cancelled')}${part(running, 'running')}${part(total - complete - failed - running - cancelled, 'queued')}
  </span>`;
}

/** The message of an empty list or a missing page. */
export const Empty = ({ title, children }) => html`<div class="empty"><p class="title">${title}</p>${children}</div>`;

/** An error message, with what the user can do next. */
export const Wrong = ({ message, children }) => html`<div class="wrong" role="alert"><span class="sign" aria-hidden="true">✗</span><div>${message}${children}</div></div>`;
