// Times in readable formats. Ages are computed with the server's clock, because the
// clock of the browser's machine may be wrong.
import { signal } from './view.js';

let ahead = 0; // milliseconds that the server's clock is ahead of ours

/** Sets the clock from a time that the server has just sent. @param {string} time */
export function setClock(time) {
  const at = Date.parse(time);
  if (!Number.isNaN(at)) ahead = at - Date.now();
}

/** The server's time in milliseconds. */
export const now = () => Date.now() + ahead;

/** Changes every second while the page is visible, so components that read it are drawn again. */
export const tick = signal(0);
setInterval(() => { if (!document.hidden) tick.value++; }, 1000);
document.addEventListener('visibilitychange', () => { if (!document.hidden) tick.value++; });

/** Milliseconds of a time that the server wrote, or NaN. @param {string|undefined} time */
export const at = (time) => (time ? Date.parse(time) : NaN);

/** 42s, 2m 34s, 1h 05m, 3d 04h. @param {number} ms */
export function span(ms) {
  if (!Number.isFinite(ms)) return '';
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${two(s % 60)}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ${two(Math.floor(s / 60) % 60)}m`;
  return `${Math.floor(s / 86400)}d ${two(Math.floor(s / 3600) % 24)}h`;
}

/** Like span, but only the largest unit: 42s, 2m, 1h, 3d. @param {number} ms */
export function brief(ms) { return span(ms).split(' ')[0]; }

/** The time of day: 14:03:07. @param {string|number} time */
export const clock = (time) => new Date(time).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });

/** Date and time, for tooltips. @param {string|number} time */
export const exact = (time) => new Date(time).toLocaleString([], { dateStyle: 'medium', timeStyle: 'medium' });

const two = (n) => String(n).padStart(2, '0');
