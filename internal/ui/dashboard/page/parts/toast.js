// Short messages that disappear.
import { html, signal } from '../core/view.js';

const shown = signal([]);
let number = 0;

const most = 4; // messages at the same time

/**
 * Shows a message for a few seconds, and says it to screen readers.
 * @param {string} text
 * @param {{mood?: 'good'|'bad', undo?: () => any}} [how] undo: what the button "Undo" does
 */
export function toast(text, { mood = 'good', undo } = {}) {
  const id = ++number;
  const end = () => { shown.value = shown.value.filter((one) => one.id !== id); };
  shown.value = [...shown.value, { id, text, mood, undo: undo && (() => { end(); undo(); }), end }].slice(-most);
  setTimeout(end, mood === 'bad' || undo ? 10_000 : 4_000);
}

/** The container of the messages. The page has one. */
export const Toasts = () => html`<div class="toasts" role="status">${shown.value.map(({ id, text, mood, undo, end }) => html`<p key=${id} class=${mood}>
  <span>${text}</span>${undo && html`<button onClick=${undo}>Undo</button>`}<button class="close" onClick=${end} aria-label="Close this message">✕</button></p>`)}</div>`;
