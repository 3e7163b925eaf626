// Says changes to screen readers that a user would otherwise only see.
import { html, signal } from '../core/view.js';

const said = signal({ text: '', number: 0 });

let timer;

/** Says a text when the screen reader has finished its sentence. @param {string} text */
export function announce(text) {
  said.value = { text, number: said.value.number + 1 };
  clearTimeout(timer);
  timer = setTimeout(() => { said.value = { ...said.value, text: '' }; }, 3_000); // a user who reads the page later finds the state, not the change
}

// A new element for each text, so that the same text is said again.
export const Announcements = () => html`<div class="hidden" aria-live="polite" id="announcements"><p key=${said.value.number}>${said.value.text}</p></div>`;
